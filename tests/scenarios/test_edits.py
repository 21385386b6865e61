"""A plan edited at its gate: verified again, shown with what changed, asked again, and run as edited."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from planwright.domain.errors import GateError, RunError
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

Edit = Callable[[dict[str, Any]], None]
ONE_SLOT = {"max_parallel_steps": 1}
PLAN_FIRST = {"order": "plan_first"}


def shown(scene: Scene, agent: Agent) -> dict[str, Any]:
    """Read what the one open gate asks."""
    (asked,) = agent.get_state(scene.config).interrupts
    value: dict[str, Any] = asked.value
    return value


def edited(plan: Any) -> dict[str, Any]:
    """Write an edit in LangChain's form."""
    action = {"name": "approve_plan", "args": {"plan": plan}}
    return {"decisions": [{"type": "edit", "edited_action": action}]}


def edit(scene: Scene, agent: Agent, change: Edit) -> dict[str, Any]:
    """Change what is shown, send it back as an edit, and return what is asked then."""
    plan = shown(scene, agent)["shown"]
    change(plan)
    scene.answer(agent, edited(plan))
    return shown(scene, agent)


@pytest.fixture
def agent(scene: Scene) -> Agent:
    """Begin a run of three steps, the second after the first; it waits at the gate of its plan."""
    steps = [
        scene.step("a", "work.read"),
        scene.step("b", "work.write", "a", estimated_risk="Medium"),
        scene.step("c", "work.read", success_criteria={"cel": "output.turn == 1"}),
    ]
    agent = scene.agent(scene.plan(*steps), "the answer", execution=ONE_SLOT, approval=PLAN_FIRST)
    scene.ask(agent)
    return agent


def write_text(plan: dict[str, Any]) -> None:
    """Change what the second step writes."""
    next(step for step in plan["steps"] if step["id"] == "b")["params"] = {"name": "b", "text": "new"}


def remove_last(plan: dict[str, Any]) -> None:
    """Take out the third step."""
    plan["steps"] = [step for step in plan["steps"] if step["id"] != "c"]


def reorder(plan: dict[str, Any]) -> None:
    """Put the third step first."""
    plan["steps"].insert(0, plan["steps"].pop())


def add(plan: dict[str, Any]) -> None:
    """Add a step that waits for the second."""
    plan["steps"].append({"id": "d", "capability": "work.read", "params": {"name": "d"}, "after": ["b"]})


@pytest.mark.parametrize(
    ("change", "lines", "done"),
    [
        (write_text, ['changed b params.text: nothing → "new"'], ["a", "c", "b:new"]),
        (remove_last, ["removed c work.read"], ["a", "b"]),
        (reorder, ["moved c to the front"], ["c", "a", "b"]),
        (add, ["added d work.read"], ["a", "c", "b", "d"]),
    ],
    ids=["change", "remove", "reorder", "add"],
)
def test_an_edit_is_shown_with_what_it_changed_and_runs_once_it_is_approved(
    change: Edit, lines: list[str], done: list[str], scene: Scene, agent: Agent
) -> None:
    before = shown(scene, agent)
    asked = edit(scene, agent, change)
    assert asked["shown"]["changes"] == lines
    assert (asked["shown"]["plan_id"], asked["shown"]["revision"]) == (before["shown"]["plan_id"], 2)
    assert asked["gate_id"] != before["gate_id"]
    assert asked["plan_hash"] != before["plan_hash"]
    assert scene.done == []
    output = scene.decide(agent, "approve")
    assert (output["status"], scene.done) == ("completed", done)


def test_the_event_of_an_edit_names_revision_changes_and_who(scene: Scene, agent: Agent) -> None:
    edit(scene, agent, write_text)
    scene.decide(agent, "approve")
    told = next(event["data"] for event in scene.journal() if event["type"] == "plan_edited")
    assert (told["revision"], told["changes"]) == (2, ['changed b params.text: nothing → "new"'])
    assert (told["by"], told["channel"]) == ("python", "python")


def test_the_gate_of_an_edited_plan_takes_no_other_answer(scene: Scene, agent: Agent) -> None:
    (asked,) = agent.get_state(scene.config).interrupts
    edit(scene, agent, write_text)
    before = scene.everything()
    for name in (asked.id, asked.value["gate_id"]):
        for answer in ("approve", "reject", edited(asked.value["shown"])):
            with pytest.raises(GateError, match=name):
                scene.answer(agent, {name: answer})
    assert scene.everything() == before
    assert sorted(gate["status"] for gate in before["gates"]) == ["edited", "open"]


def test_a_plan_edited_twice_is_shown_against_the_revision_before(scene: Scene, agent: Agent) -> None:
    edit(scene, agent, write_text)
    asked = edit(scene, agent, remove_last)
    assert (asked["shown"]["changes"], asked["shown"]["revision"]) == (["removed c work.read"], 3)
    scene.decide(agent, "approve")
    assert scene.done == ["a", "b:new"]


def test_an_edit_that_undoes_another_is_asked_for_and_runs(scene: Scene, agent: Agent) -> None:
    """The plan is the first one again, by its hash; the first gate is closed for good."""
    first = shown(scene, agent)
    edit(scene, agent, write_text)
    asked = edit(scene, agent, lambda plan: plan["steps"][1].update(params={"name": "b"}))
    assert asked["plan_hash"] == first["plan_hash"]
    assert asked["gate_id"] != first["gate_id"]
    assert scene.done == []
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert scene.done == ["a", "c", "b"]


def test_an_edited_plan_can_be_rejected_and_nothing_runs(scene: Scene, agent: Agent) -> None:
    edit(scene, agent, write_text)
    output = scene.decide(agent, "reject")
    assert (output["status"], scene.done) == ("rejected", [])


def test_an_edited_plan_that_was_rejected_does_not_run_when_the_planner_proposes_it(scene: Scene) -> None:
    """It has so little risk that it would need no approval, had nobody been asked."""
    risky = scene.plan(scene.step("s1", "work.write", estimated_risk="Medium"))
    agent = scene.agent(risky, scene.plan(scene.step("s1", "work.write")), '{"cannot": "nothing else"}')
    scene.ask(agent)
    edit(scene, agent, lambda plan: plan["steps"][0].update(estimated_risk="Low"))
    output = scene.decide(agent, "reject", "not at all")
    assert (output["status"], scene.done) == ("rejected", [])
    assert len({row["plan_hash"] for row in scene.rows("SELECT plan_hash FROM plans")}) == 2
    types = [event["type"] for event in scene.journal()]
    assert (types.count("plan_created"), types.count("plan_step_start")) == (2, 0)


def test_edits_leave_the_replan_budget_alone(scene: Scene) -> None:
    write = scene.plan(scene.step("s1", "work.write", estimated_risk="Medium"))
    other = scene.plan(scene.step("s2", "work.write", estimated_risk="Medium"))
    agent = scene.agent(write, other, "the answer", planning={"mode": "always", "replan_budget": 1})
    scene.ask(agent)
    for text in "xyz":
        edit(scene, agent, lambda plan, text=text: plan["steps"][0]["params"].update(text=text))  # type: ignore[misc]
    scene.decide(agent, "reject", "another one")
    assert shown(scene, agent)["shown"]["revision"] == 5
    scene.decide(agent, "approve")
    assert scene.done == ["s2"]


def test_an_edit_to_less_risk_than_needs_approval_is_still_asked_for(scene: Scene, agent: Agent) -> None:
    asked = edit(scene, agent, lambda plan: plan["steps"].pop(1))
    assert asked["shown"]["risk"] == "Low"
    assert scene.done == []


def test_what_an_edit_leaves_out_of_a_step_stays_as_it_was(scene: Scene, agent: Agent) -> None:
    asked = edit(scene, agent, lambda plan: plan.update(steps=[{"id": "a"}, {"id": "c", "after": ["a"]}]))
    assert asked["shown"]["changes"] == ["removed b work.write", "changed c after: nothing → a"]
    assert [step["params"] for step in asked["shown"]["steps"]] == [{"name": "a"}, {"name": "c"}]
    (row,) = scene.rows("SELECT plan FROM plans WHERE revision = 2")
    assert '"cel":"output.turn == 1"' in row["plan"]


def test_a_plan_is_an_edit_too(scene: Scene, agent: Agent) -> None:
    """In the shape of `planwright show --json`, with `depends_on` and the closing step."""
    plan = agent.get_state(scene.config).values["plan"].model_dump(mode="json")
    plan["steps"][2]["depends_on"] = ["b"]
    scene.answer(agent, edited(plan))
    assert shown(scene, agent)["shown"]["changes"] == ["changed c after: nothing → b"]


def test_an_edit_in_the_form_of_the_agent_inbox_is_taken(scene: Scene, agent: Agent) -> None:
    plan = shown(scene, agent)["shown"]
    remove_last(plan)
    scene.answer(agent, [{"type": "edit", "args": {"action": "approve_plan", "args": {"plan": plan}}}])
    assert shown(scene, agent)["shown"]["changes"] == ["removed c work.read"]


def test_an_edit_into_a_destructive_call_stops_at_the_gate_of_that_call(scene: Scene, agent: Agent) -> None:
    asked = edit(scene, agent, lambda plan: plan["steps"][1].update(capability="work.destroy"))
    assert (asked["shown"]["risk"], asked["shown"]["steps"][1]["own_gate"]) == ("Critical", True)
    scene.decide(agent, "approve")
    assert list(scene.waiting(agent)) == ["b"]
    assert "b" not in scene.done


def test_one_call_edited_into_an_agent_shows_its_tools_and_can_be_edited_back(
    scene: Scene, agent: Agent
) -> None:
    def to_agent(plan: dict[str, Any]) -> None:
        plan["steps"][1] |= {
            "capability": "agent",
            "description": "Write it",
            "params": {"tools": ["work.write"]},
        }

    asked = edit(scene, agent, to_agent)
    step = asked["shown"]["steps"][1]
    assert (step["capability"], step["params"]) == ("agent", {"tools": ["work.write"]})
    assert asked["shown"]["changes"][0] == "changed b capability: work.write → agent"
    back = {"capability": "work.write", "params": {"name": "b"}}
    edit(scene, agent, lambda plan: plan["steps"][1].update(back))
    scene.decide(agent, "approve")
    assert scene.done == ["a", "c", "b"]


def test_a_plan_edited_in_one_process_is_approved_in_another(scene: Scene, agent: Agent) -> None:
    plan = shown(scene, agent)["shown"]
    write_text(plan)
    agent.close()
    first = scene.child(scene.entry(resume=edited(plan)), replies=["the answer"])
    (asked,) = first["outputs"][0]["waiting"]
    assert asked["shown"]["changes"] == ['changed b params.text: nothing → "new"']
    by_hash = {"type": "approve", "plan_hash": asked["plan_hash"]}
    second = scene.child(scene.entry(resume=by_hash), replies=["the answer"])
    assert second["outputs"][0]["status"] == "completed"
    assert sorted(scene.done) == ["a", "b:new", "c"]


def test_a_process_that_dies_with_an_edit_on_record_is_recovered_to_its_new_gate(
    scene: Scene, agent: Agent
) -> None:
    plan = shown(scene, agent)["shown"]
    write_text(plan)
    agent.close()
    scene.child(scene.entry(resume=edited(plan)), replies=["never asked"], die_at="decision")
    assert scene.rows("SELECT status FROM gates") == [{"status": "edited"}]
    again = scene.agent("the answer")
    scene.recover(again)
    assert shown(scene, again)["shown"]["revision"] == 2
    scene.decide(again, "approve")
    assert sorted(scene.done) == ["a", "b:new", "c"]
    types = [event["type"] for event in scene.journal()]
    assert (types.count("plan_edited"), types.count("approval_resolved")) == (1, 1)


def drop_needed(plan: dict[str, Any]) -> None:
    """Take out a step that another waits for."""
    plan["steps"] = [step for step in plan["steps"] if step["id"] != "a"]


def many(plan: dict[str, Any]) -> None:
    """Add more steps than a plan may have."""
    plan["steps"] += [
        {"id": f"n{number}", "capability": "work.read", "params": {"name": "n"}} for number in range(20)
    ]


INVALID: dict[str, tuple[Edit, str]] = {
    "unknown capability": (
        lambda plan: plan["steps"][0].update(capability="work.reed"),
        r"unknown_capability \[a\].*nearest: work.read",
    ),
    "bad arguments": (
        lambda plan: plan["steps"][0].update(params={"name": "a", "nome": "x"}),
        r"bad_arguments \[a\]: work.read: nome",
    ),
    "missing argument": (lambda plan: plan["steps"][0].update(params={}), r"bad_arguments \[a\]"),
    "cycle": (lambda plan: plan["steps"][0].update(after=["b"]), r"cycle \[.\]: the steps wait for each"),
    "unknown dependency": (drop_needed, r"unknown_dependency \[b\]: there is no step a"),
    "forward reference": (
        lambda plan: plan["steps"][0].update(params={"name": "{{steps.c.output.text}}"}),
        r"forward_reference \[a\]",
    ),
    "id twice": (lambda plan: plan["steps"][2].update(id="a"), r"duplicate_id \[a\]"),
    "too many steps": (many, "too_many_steps"),
    "mode below the capability's": (
        lambda plan: plan["steps"][1].update(approval_mode="read_only"),
        r"approval_mode_mismatch \[b\]",
    ),
    "no CEL": (
        lambda plan: plan["steps"][0].update(success_criteria={"cel": "output ="}),
        "success_criteria is not CEL",
    ),
    "CEL over what there is not": (
        lambda plan: plan["steps"][0].update(success_criteria={"cel": "result.text != ''"}),
        "there is no `result`; there are output",
    ),
    "nothing changed": (lambda plan: None, "changes nothing"),
    "no steps": (lambda plan: plan["steps"].clear(), "no step that does anything"),
    "unknown key of a step": (lambda plan: plan["steps"][0].update(tools=["x"]), "no field 'tools'"),
    "unknown key of the plan": (lambda plan: plan.update(approved=True), "no field 'approved'"),
    "two spellings": (lambda plan: plan["steps"][0].update(tool="work.write"), "`capability` twice"),
    "risk set by hand": (lambda plan: plan["steps"][1].update(risk="None"), "`risk` follows from the rest"),
    "gate taken away": (
        lambda plan: plan["steps"][1].update(own_gate=True),
        "`own_gate` follows from the rest",
    ),
    "revision set by hand": (lambda plan: plan.update(revision=7), "`revision` follows from the rest"),
    "another plan's name": (lambda plan: plan.update(plan_id="plan_x"), "`plan_id` follows"),
    "steps are no list": (lambda plan: plan.update(steps="a, b"), "no list `steps`"),
    "a step is no object": (lambda plan: plan["steps"].append("d"), "a step is no object"),
    "after is a text": (lambda plan: plan["steps"][1].update(after="a"), "`after` is a list"),
    "a tool nobody has": (
        lambda plan: plan["steps"][0].update(
            capability="agent", description="d", params={"tools": ["work.nope"]}
        ),
        r"unknown_capability \[a\]: there is no capability 'work.nope'",
    ),
    "an agent without a task": (
        lambda plan: plan["steps"][0].update(capability="agent", params={}),
        r"bad_arguments \[a\]: nobody can tell what the step is to do",
    ),
    "not a number": (
        lambda plan: plan["steps"][0]["params"].update(name=float("nan")),
        "cannot be stored",
    ),
    "half a character": (lambda plan: plan["steps"][0]["params"].update(name="\ud800"), "cannot be stored"),
    "not JSON": (lambda plan: plan["steps"][0]["params"].update(name=object()), "does not fit"),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("change", "match"), INVALID.values(), ids=INVALID)
def test_an_edit_that_may_not_run_is_refused_and_leaves_everything_as_it_was(
    change: Edit, match: str, scene: Scene, agent: Agent
) -> None:
    before, asked = scene.everything(), shown(scene, agent)
    plan = shown(scene, agent)["shown"]
    change(plan)
    with pytest.raises(GateError, match=match) as refused:
        scene.answer(agent, edited(plan))
    assert refused.value.next_step
    assert scene.everything() == before
    assert shown(scene, agent) == asked
    scene.decide(agent, "approve")
    assert scene.done == ["a", "c", "b"]


def test_an_edit_over_the_budget_of_calls_is_refused(scene: Scene) -> None:
    step = scene.step("s1", "work.write", estimated_risk="Medium")
    agent = scene.agent(scene.plan(step), "the answer", budgets={"run": {"tool_calls": 1}})
    scene.ask(agent)
    before = scene.everything()
    with pytest.raises(GateError, match="budget_exceeded: 2 calls planned, 1 left"):
        edit(scene, agent, add_free)
    assert scene.everything() == before


def add_free(plan: dict[str, Any]) -> None:
    """Add a step that waits for none."""
    plan["steps"].append({"id": "d", "capability": "work.read", "params": {"name": "d"}})


def test_a_wait_that_a_reference_demands_cannot_be_edited_away(scene: Scene) -> None:
    steps = [
        scene.step("a", "work.read"),
        scene.step("b", "work.destroy", params={"name": "{{steps.a.output.text}}"}),
    ]
    agent = scene.agent(scene.plan(*steps), "the answer")
    scene.ask(agent)
    assert shown(scene, agent)["shown"]["steps"][1]["after"] == ["a"]
    with pytest.raises(
        GateError, match="step 'b' still needs a: its params, inputs or condition refer to it"
    ):
        edit(scene, agent, lambda plan: plan["steps"][1].update(after=[]))


def test_of_an_edit_and_an_approval_at_once_one_is_taken(scene: Scene, agent: Agent) -> None:
    plan = shown(scene, agent)["shown"]
    write_text(plan)
    together = threading.Barrier(2)

    def answer(resume: Any) -> bool:
        together.wait(PATIENCE_S)
        try:
            scene.answer(agent, resume)
        except (GateError, RunError):
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        taken = list(pool.map(answer, ("approve", edited(plan))))
    assert sorted(taken) == [False, True]
    first = scene.rows("SELECT status FROM gates ORDER BY requested_at")[0]["status"]
    assert first == ("approved" if taken[0] else "edited")
    assert scene.done == (["a", "c", "b"] if taken[0] else [])


def test_an_edit_of_another_plan_than_the_shown_one_is_refused(scene: Scene, agent: Agent) -> None:
    stale = {**edited(shown(scene, agent)["shown"]), "plan_hash": "0" * 64}
    before = scene.everything()
    with pytest.raises(GateError, match="the answer names plan_hash 000000000000"):
        scene.answer(agent, stale)
    assert scene.everything() == before


def test_an_edit_beside_an_answer_that_is_refused_is_not_recorded(scene: Scene, agent: Agent) -> None:
    plan = shown(scene, agent)["shown"]
    remove_last(plan)
    before = scene.everything()
    with pytest.raises(GateError, match="gate_x"):
        scene.answer(agent, {shown(scene, agent)["gate_id"]: edited(plan), "gate_x": "approve"})
    assert scene.everything() == before


def test_the_gate_of_one_call_takes_no_edit_of_a_plan(scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.destroy")), "the answer")
    scene.ask(agent)
    scene.decide(agent, "approve")
    (asked,) = agent.get_state(scene.config).interrupts
    assert asked.value["review_configs"][0]["allowed_decisions"] == ["approve", "edit", "reject", "respond"]
    before = scene.everything()
    with pytest.raises(GateError, match="keeps the tool that is called"):
        scene.answer(agent, edited({"steps": []}))
    assert scene.everything() == before


def test_a_response_at_the_gate_of_one_call_leaves_it_out_and_is_told(scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.destroy")), "the answer")
    scene.ask(agent)
    scene.decide(agent, "approve")
    output = scene.answer(agent, {"type": "respond", "message": "it is gone already"})
    assert (output["status"], scene.done) == ("completed_with_skips", [])
    assert "it is gone already" in output["answer"]


def test_a_step_that_was_done_before_a_replan_is_not_done_again_after_an_edit(scene: Scene) -> None:
    kept = scene.step("kept", "work.write", estimated_risk="Medium")
    flaky = scene.step("s1", "work.flaky", "kept", params={"name": "s1", "failures": 99})
    other = scene.step("other", "work.book", "kept", estimated_risk="Medium")
    agent = scene.agent(
        scene.plan(kept, flaky), scene.plan(kept, other), "the answer", execution={"step_retries": 0}
    )
    scene.ask(agent)
    scene.decide(agent, "approve")
    edit(scene, agent, lambda plan: plan["steps"][1].update(params={"name": "edited"}))
    output = scene.decide(agent, "approve")
    assert (output["status"], scene.done) == ("completed", ["kept", "s1", "edited"])
