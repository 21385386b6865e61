"""A run that waits at its plan's gate goes on in a process that has never seen it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.scenarios.conftest import said

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

WAYS = ("invoke", "ainvoke", "stream", "astream")
APPROVE = {"decisions": [{"type": "approve"}]}
ORDERS = ("plan_first", "reads_first")
PLAN_FIRST = {"approval": {"order": "plan_first"}}


def gated(scene: Scene) -> str:
    """Write a plan that a person has to approve, with no gate inside."""
    second = scene.step("s2", "work.write", "s1", estimated_risk="Medium")
    return scene.plan(scene.step("s1", "work.read"), second)


@pytest.fixture(scope="module", params=ORDERS)
def played(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, stage: Callable[[Path], Scene]
) -> dict[str, Any]:
    """Begin a run in each way in one process, and approve all of them in a second one.

    The second process's model would answer a request for a plan with garbage.
    """
    scene, order = stage(tmp_path_factory.mktemp("resume")), request.param
    settings = {"approval": {"order": order}}
    begin = [scene.entry(how, thread=f"thread-{how}", message="Do it") for how in WAYS]
    resume = [scene.entry(how, thread=f"thread-{how}", resume=APPROVE) for how in WAYS]
    first = scene.child(*begin, replies=[gated(scene)], settings=settings)
    before = scene.done
    second = scene.child(*resume, replies=["the second process answers"], settings=settings)
    return {"first": first, "second": second, "before": before, "scene": scene, "order": order}


@pytest.mark.parametrize("how", WAYS)
def test_the_first_process_stops_at_one_gate_with_langchains_request(how: str, played: Any) -> None:
    output = played["first"]["outputs"][WAYS.index(how)]
    (asked,) = output["waiting"]
    (action,) = asked["action_requests"]
    plan = action["args"]["plan"]
    assert action["name"] == "approve_plan"
    assert [step["id"] for step in plan["steps"]] == ["s1", "s2"]
    assert "Do it" in action["description"]
    assert asked["review_configs"] == [
        {"action_name": "approve_plan", "allowed_decisions": ["approve", "edit", "reject", "respond"]}
    ]
    assert asked["gate_id"].startswith("gate_")
    assert len(asked["plan_hash"]) == 64
    assert asked["expires_at"].endswith("+00:00")


def test_nothing_runs_before_the_answer_but_what_is_read_first(played: Any) -> None:
    read = ["s1"] if played["order"] == "reads_first" else []
    assert played["before"] == read * len(WAYS)
    for output in played["first"]["outputs"]:
        shown = output["waiting"][0]["shown"]
        assert [step["id"] for step in shown["steps"] if "brought" in step] == read


@pytest.mark.parametrize("how", WAYS)
def test_the_second_process_runs_the_plan_to_its_answer(how: str, played: Any) -> None:
    output = played["second"]["outputs"][WAYS.index(how)]
    assert output["status"] == "completed"
    assert output["answer"] == "the second process answers"
    assert output["waiting"] == []


def test_every_step_of_every_run_was_done_once_and_in_order(played: Any) -> None:
    read_first = played["order"] == "reads_first"
    done = [*(["s1"] * len(WAYS)), *(["s2"] * len(WAYS))] if read_first else ["s1", "s2"] * len(WAYS)
    assert played["scene"].done == done


def test_the_second_process_never_plans_again(played: Any) -> None:
    asked = [call[0].split("\n")[0] for call in played["second"]["asked"]]
    assert asked == ["Role: respond"] * len(WAYS)


@pytest.mark.parametrize("how", ["stream", "astream"])
def test_the_second_process_streams_the_events_of_the_approved_plan(how: str, played: Any) -> None:
    outputs = [played[process]["outputs"][WAYS.index(how)]["events"] for process in ("first", "second")]
    before, after = ([event["type"] for event in events] for events in outputs)
    plan_events = [type_ for type_ in (*before, *after) if type_.startswith(("plan_s", "approval_"))]
    asked, start = ["approval_requested", "approval_resolved"], ["plan_start"]
    step = ["plan_step_start", "plan_step_complete"]
    read_first = [*start, *step, *asked, *step]
    assert plan_events == (read_first if played["order"] == "reads_first" else [*asked, *start, *step, *step])
    assert after[-1] == "run_end"


def test_a_reason_to_reject_reaches_the_next_plan(scene: Scene) -> None:
    scene.ask(scene.agent(gated(scene), **PLAN_FIRST))
    other = scene.plan(scene.step("milder", "work.read"))
    reject = {"decisions": [{"type": "reject", "message": "leave the archive alone"}]}
    replies = [other, "did the milder thing"]
    ended = scene.child(scene.entry(resume=reject), replies=replies, settings=PLAN_FIRST)
    assert "leave the archive alone" in ended["asked"][0][-1]
    assert ended["outputs"][0]["answer"] == "did the milder thing"
    assert scene.done == ["milder"]


def test_a_plan_made_after_a_rejection_asks_at_a_gate_of_its_own(scene: Scene) -> None:
    other = scene.plan(scene.step("milder", "work.write", estimated_risk="Medium"))
    agent = scene.agent(gated(scene), other, "did the milder thing", **PLAN_FIRST)
    scene.ask(agent)
    first = scene.waiting(agent)["plan"]
    scene.decide(agent, "reject", "leave the archive alone")
    assert (scene.waiting(agent)["plan"] != first, scene.done) == (True, [])
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert scene.done == ["milder"]


@pytest.mark.parametrize(
    ("replans", "reason"), [(0, "leave the archive alone"), (2, "")], ids=["no re-plan left", "no reason"]
)
def test_a_rejection_that_leads_to_no_other_plan_ends_the_run(
    replans: int, reason: str, scene: Scene
) -> None:
    settings = {"planning": {"mode": "always", "replan_budget": replans}, **PLAN_FIRST}
    scene.ask(scene.agent(gated(scene), **settings))
    reject = {"decisions": [{"type": "reject", "message": reason}]}
    ended = scene.child(scene.entry(resume=reject), replies=["never asked"], settings=settings)
    (output,) = ended["outputs"]
    assert output["status"] == "rejected"
    assert reason in output["answer"]
    assert (scene.done, ended["asked"]) == ([], [])


def test_a_process_killed_as_it_wrote_down_the_end_is_recovered_to_the_same_answer(scene: Scene) -> None:
    agent = scene.agent(gated(scene))
    scene.ask(agent)
    scene.child(scene.entry(resume=APPROVE), replies=["the answer"], die_at="end")
    (run,) = scene.rows("SELECT status, answer FROM runs")
    assert run == {"status": "completed", "answer": "the answer"}
    output = scene.recover(agent)
    assert [message.text for message in said(output["messages"])] == ["Do it", "the answer"]
    assert [message.type for message in output["messages"]].count("tool") == 2
    assert (output["status"], output["answer"], scene.done) == ("completed", "the answer", ["s1", "s2"])


@pytest.mark.long
def test_a_user_who_imported_langgraph_first_can_resume_and_begin(scene: Scene) -> None:
    scene.ask(scene.agent(gated(scene)))
    entries = scene.entry(resume=APPROVE), scene.entry(thread="another", message="Do it")
    ended = scene.cold_child(*entries, script="langgraph_first.py", replies=["it answers", gated(scene)])
    resumed, begun = ended["outputs"]
    assert (resumed["status"], resumed["answer"]) == ("completed", "it answers")
    assert len(begun["waiting"]) == 1
    assert scene.done == ["s1", "s2", "s1"]  # the other run reads before it asks
