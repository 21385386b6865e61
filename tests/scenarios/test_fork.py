"""A fork is a new run: what was done keeps its results, the rest is asked for and runs under new keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from planwright.domain.errors import RunError
from planwright.domain.hashing import whole_json
from planwright.domain.results import StepResult
from tests.scenarios.conftest import said

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

READ, WRITE, LAST = "a", "b", "c"
PLAN_FIRST = {"order": "plan_first"}


def chain(scene: Scene) -> str:
    """Write a plan of three steps, one after the other, with one beside them."""
    text = {"name": WRITE, "text": "after {{steps.a.output.turn}}"}
    return scene.plan(
        scene.step(READ, "work.read"),
        scene.step(WRITE, "work.write", READ, params=text, estimated_risk="Medium"),
        scene.step(LAST, "work.write", WRITE),
        scene.step("beside", "work.write"),
    )


def ended(scene: Scene) -> Agent:
    """Play the chain to its end."""
    agent = scene.agent(chain(scene), "the answer", execution={"max_parallel_steps": 1}, approval=PLAN_FIRST)
    scene.ask(agent)
    assert scene.decide(agent, "approve")["status"] == "completed"
    return agent


def fork(scene: Scene, agent: Agent, source: Any = None, *args: Any, **options: Any) -> dict[str, Any]:
    """Fork the scene's thread, or another source, move to the new thread and begin the run there."""
    config = agent.fork(source or scene.thread, *args, **options)
    scene.thread = config["configurable"]["thread_id"]
    return scene.recover(agent)


def since(scene: Scene, before: list[str]) -> list[str]:
    """List what was done since, in a stable order."""
    assert scene.done[: len(before)] == before
    return sorted(scene.done[len(before) :])


def at(scene: Scene, agent: Agent, *next_: str) -> str:
    """Name the newest checkpoint after which something comes."""
    return next(point.checkpoint_id for point in agent.checkpoints(scene.thread) if point.next == next_)


def steps(scene: Scene, thread: str) -> dict[str, dict[str, Any]]:
    """Read how the steps of the run on a thread ended."""
    query = "SELECT step_id, result FROM steps JOIN runs USING (run_id) WHERE thread_id = ?"
    return {row["step_id"]: whole_json(StepResult, row["result"]) for row in scene.rows(query, thread)}


def run_of(scene: Scene, thread: str) -> str:
    """Name the run on a thread."""
    (row,) = scene.rows("SELECT run_id FROM runs WHERE thread_id = ?", thread)
    return str(row["run_id"])


def test_a_fork_of_an_ended_run_does_nothing_again(scene: Scene) -> None:
    agent = ended(scene)
    before, source = scene.done, scene.thread
    fork(scene, agent)
    output = scene.decide(agent, "approve")
    assert (output["status"], output["answer"], since(scene, before)) == ("completed", "the answer", [])
    kept = steps(scene, scene.thread)
    assert {id_: step["kept_from"] for id_, step in kept.items()} == dict.fromkeys(
        (READ, WRITE, LAST, "beside"), run_of(scene, source)
    )
    assert kept[WRITE]["output"] == steps(scene, source)[WRITE]["output"]


def test_a_rerun_step_and_what_needs_it_run_once_more_and_nothing_else(scene: Scene) -> None:
    agent = ended(scene)
    before = scene.done
    fork(scene, agent, rerun=[WRITE])
    assert since(scene, before) == []
    scene.decide(agent, "approve")
    assert since(scene, before) == ["b:after 1", "c"]
    assert steps(scene, scene.thread)[READ]["kept_from"]
    assert not steps(scene, scene.thread)[WRITE]["kept_from"]


def test_a_rerun_step_hands_its_new_result_on(scene: Scene) -> None:
    agent = ended(scene)
    before = scene.done
    fork(scene, agent, rerun=READ)
    scene.decide(agent, "approve")
    assert since(scene, before) == ["a", "b:after 2", "c"]


def test_an_effect_done_again_has_another_key(scene: Scene) -> None:
    agent = ended(scene)
    source = scene.thread
    fork(scene, agent, rerun=["beside"])
    scene.decide(agent, "approve")
    query = "SELECT key FROM effects WHERE thread_id = ?"
    old, new = ([row["key"] for row in scene.rows(query, thread)] for thread in (source, scene.thread))
    assert (len(old), len(new)) == (3, 1)
    assert not set(old) & set(new)


def test_the_approval_of_the_source_does_not_carry_over(scene: Scene) -> None:
    agent = ended(scene)
    before = scene.done
    output = fork(scene, agent, rerun=[READ, "beside"])
    (asked,) = output["__interrupt__"]
    assert asked.value["shown"]["done"] == {}
    gates = scene.rows("SELECT gate_id, status, shown_hash FROM gates ORDER BY requested_at")
    assert [gate["status"] for gate in gates] == ["approved", "open"]
    assert gates[0]["shown_hash"] == gates[1]["shown_hash"]
    assert scene.decide(agent, "reject")["status"] == "rejected"
    assert since(scene, before) == []


def test_the_card_of_a_fork_says_what_is_kept_from_where(scene: Scene) -> None:
    agent = ended(scene)
    source = run_of(scene, scene.thread)
    (asked,) = fork(scene, agent, rerun=[WRITE])["__interrupt__"]
    assert asked.value["shown"]["done"] == {READ: source, "beside": source}


def test_a_step_with_a_gate_of_its_own_is_asked_for_again(scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step("gone", "work.destroy")), "the answer")
    scene.ask(agent)
    scene.decide(agent, "approve")
    scene.decide(agent, "approve")
    fork(scene, agent, rerun=["gone"])
    scene.decide(agent, "approve")
    assert (list(scene.waiting(agent)), scene.done) == (["gone"], ["gone"])
    scene.decide(agent, "approve")
    assert scene.done == ["gone", "gone"]


def test_a_kept_step_with_a_gate_of_its_own_is_not_asked_for_again(scene: Scene) -> None:
    plan = scene.plan(scene.step("gone", "work.destroy"), scene.step(READ, "work.read"))
    agent = scene.agent(plan, "the answer")
    scene.ask(agent)
    scene.decide(agent, "approve")
    scene.decide(agent, "approve")
    fork(scene, agent, rerun=[READ])
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert sorted(scene.done) == [READ, READ, "gone"]


def test_gates_that_were_approved_with_the_plan_are_not_for_its_fork(scene: Scene) -> None:
    deep = scene.agent(
        scene.plan(scene.step("gone", "work.destroy")), "the answer", approval={"depth": "plan_and_gates"}
    )
    scene.ask(deep)
    assert scene.decide(deep, "approve")["status"] == "completed"
    agent = scene.agent("the answer")
    fork(scene, agent, rerun=["gone"])
    scene.decide(agent, "approve")
    assert (list(scene.waiting(agent)), scene.done) == (["gone"], ["gone"])


@pytest.mark.parametrize("scope", ["run", "session"])
def test_a_call_that_is_allowed_in_the_source_asks_in_its_fork(scope: str, scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step("sent", "work.send")), "the answer")
    scene.ask(agent)
    scene.decide(agent, "approve")
    scene.answer(agent, {"type": "approve", "remember": scope})
    assert scene.done == ["sent>nobody"]
    fork(scene, agent, rerun=["sent"])
    scene.decide(agent, "approve")
    assert (list(scene.waiting(agent)), scene.done) == (["sent"], ["sent>nobody"])


def test_the_gate_of_the_source_put_into_the_state_of_a_fork_opens_nothing(scene: Scene) -> None:
    agent = ended(scene)
    before = scene.done
    (gate,) = scene.rows("SELECT gate_id FROM gates")
    fork(scene, agent, rerun=[READ])
    agent.update_state(scene.config, {"gate_id": gate["gate_id"], "approved": True}, "plan_gate")
    assert scene.recover(agent)["status"] != "completed"
    assert since(scene, before) == []


def test_a_plan_that_needed_no_approval_needs_none_as_a_fork(scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step(READ, "work.read")), "the answer")
    assert scene.ask(agent)["status"] == "completed"
    assert fork(scene, agent, rerun=[READ])["status"] == "completed"
    assert scene.done == [READ, READ]


def test_a_plan_that_a_person_was_asked_for_is_asked_for_in_every_fork(scene: Scene) -> None:
    scene.ask(asking := scene.agent(scene.plan(scene.step(READ, "work.read")), approval={"plan": "always"}))
    scene.decide(asking, "reject")
    agent = scene.agent("the answer", approval={"plan": "never"})
    first = fork(scene, agent)
    scene.decide(agent, "reject")
    second = fork(scene, agent)
    assert [len(output["__interrupt__"]) for output in (first, second)] == [1, 1]
    assert scene.done == []


def test_the_source_is_left_as_it_was(scene: Scene) -> None:
    agent = ended(scene)
    source, config = run_of(scene, scene.thread), scene.config

    def left() -> list[Any]:
        tables = ("runs", "plans", "gates", "steps", "effects", "journal")
        found: list[Any] = [scene.rows(f"SELECT * FROM {t} WHERE run_id = ?", source) for t in tables]
        return [*found, agent.get_state(config), len(list(agent.get_state_history(config)))]

    before = left()
    fork(scene, agent, rerun=[WRITE])
    scene.decide(agent, "approve")
    assert left() == before


def test_a_fork_carries_the_conversation_up_to_its_request(scene: Scene) -> None:
    agent = scene.agent(
        scene.plan(scene.step(READ, "work.read")),
        "the first answer",
        '{"task": "Do it again"}',
        scene.plan(scene.step("second", "work.read")),
        "the second answer",
        "the answer of the fork",
    )
    scene.ask(agent)
    scene.ask(agent, "Do it again")
    output = fork(scene, agent)
    words = ["Do it", "the first answer", "Do it again", "the answer of the fork"]
    assert [message.text for message in said(output["messages"])] == words


def test_an_older_run_of_a_thread_is_forked_by_its_id(scene: Scene) -> None:
    agent = scene.agent(
        scene.plan(scene.step(READ, "work.read")),
        "the first answer",
        '{"task": "Do it again"}',
        scene.plan(scene.step("second", "work.read")),
        "the second answer",
        "the answer of the fork",
    )
    scene.ask(agent)
    first = run_of(scene, scene.thread)
    scene.ask(agent, "Do it again")
    output = fork(scene, agent, first, rerun=[READ])
    assert [message.text for message in said(output["messages"])] == ["Do it", "the answer of the fork"]
    assert scene.done == [READ, "second", READ]


def test_from_before_the_steps_everything_runs_again(scene: Scene) -> None:
    agent = ended(scene)
    before = scene.done
    fork(scene, agent, scene.thread, at(scene, agent, "plan_approval"))
    scene.decide(agent, "approve")
    assert since(scene, before) == ["a", "b:after 2", "beside", "c"]


def test_a_config_of_the_state_history_names_the_checkpoint(scene: Scene) -> None:
    agent = ended(scene)
    before = scene.done
    history = agent.get_state_history(scene.config)
    scored = next(state for state in history if state.next == ("score",))
    fork(scene, agent, scored.config)
    scene.decide(agent, "approve")
    assert since(scene, before) == []


def test_from_before_a_plan_the_request_begins_anew(scene: Scene) -> None:
    agent = scene.agent(
        scene.plan(scene.step(READ, "work.read")),
        "the answer",
        scene.plan(scene.step("other", "work.read")),
        "another answer",
    )
    scene.ask(agent)
    output = fork(scene, agent, scene.thread, at(scene, agent, "planner"))
    assert (output["answer"], scene.done) == ("another answer", [READ, "other"])


def test_a_waiting_run_is_forked_with_what_it_has_done_by_now(scene: Scene) -> None:
    plan = scene.plan(scene.step("gone", "work.destroy"), scene.step(READ, "work.read"))
    agent = scene.agent(plan, "the answer")
    scene.ask(agent)
    scene.decide(agent, "approve")
    source = scene.config
    fork(scene, agent)
    scene.decide(agent, "approve")
    assert (scene.done, list(scene.waiting(agent))) == ([READ], ["gone"])
    scene.decide(agent, "approve")
    assert scene.done == [READ, "gone"]
    assert len(agent.get_state(source).interrupts) == 1


def test_a_fork_of_a_failed_run_tries_what_failed_once_more(scene: Scene) -> None:
    flaky = {"name": "flaky", "failures": 3}
    plan = scene.plan(scene.step(READ, "work.read"), scene.step("flaky", "work.flaky", READ, params=flaky))
    agent = scene.agent(plan, "it failed", "it worked", planning={"mode": "always", "replan_budget": 0})
    scene.ask(agent)
    assert scene.decide(agent, "reject")["status"] == "failed"
    assert fork(scene, agent)["status"] == "completed"
    assert scene.done == [READ, "flaky", "flaky", "flaky", "flaky"]


def test_a_fork_of_a_rejected_run_asks_again_and_runs_once_approved(scene: Scene) -> None:
    agent = scene.agent(chain(scene), "the answer", approval=PLAN_FIRST)
    scene.ask(agent)
    scene.decide(agent, "reject")
    fork(scene, agent)
    assert scene.done == []
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert sorted(scene.done) == ["a", "b:after 1", "beside", "c"]


def test_a_fork_of_a_fork_names_the_run_that_did_a_step(scene: Scene) -> None:
    agent = ended(scene)
    first, before = run_of(scene, scene.thread), scene.done
    fork(scene, agent, rerun=["beside"])
    scene.decide(agent, "approve")
    second = run_of(scene, scene.thread)
    fork(scene, agent, rerun=[LAST])
    scene.decide(agent, "approve")
    assert since(scene, before) == ["beside", "c"]
    found = {id_: step["kept_from"] for id_, step in steps(scene, scene.thread).items()}
    assert found == {READ: first, WRITE: first, LAST: "", "beside": second}


def test_a_fork_edited_at_its_gate_runs_the_edited_step_and_what_needs_it(scene: Scene) -> None:
    agent = ended(scene)
    before = scene.done
    (asked,) = fork(scene, agent)["__interrupt__"]
    plan = asked.value["shown"]
    next(step for step in plan["steps"] if step["id"] == WRITE)["params"]["text"] = "new"
    action = {"name": "approve_plan", "args": {"plan": plan}}
    (asked,) = scene.answer(agent, {"type": "edit", "edited_action": action})["__interrupt__"]
    assert (asked.value["shown"]["revision"], list(asked.value["shown"]["done"])) == (2, [READ, "beside"])
    assert since(scene, before) == []
    scene.decide(agent, "approve")
    assert since(scene, before) == ["b:new", "c"]


def test_feedback_on_a_fork_leads_to_another_plan_over_what_is_kept(scene: Scene) -> None:
    agent = ended(scene)
    before = scene.done
    fork(scene, agent)
    more = [scene.step(READ, "work.read"), scene.step("more", "work.write", READ, estimated_risk="Medium")]
    replies = scene.agent(scene.plan(*more), "another answer")
    scene.decide(replies, "respond", "do more")
    assert scene.decide(replies, "approve")["answer"] == "another answer"
    assert since(scene, before) == ["more"]


def test_an_agent_step_that_was_done_is_kept_and_done_again_when_named(scene: Scene) -> None:
    agentic = {"id": "look", "description": "Look", "tool_hints": ["work.read"], "estimated_risk": "Medium"}
    call = scene.calls(("work__read", {"name": READ}))
    agent = scene.agent(scene.plan(agentic), call, "found", call, "again")
    scene.ask(agent)
    scene.decide(agent, "approve")
    fork(scene, agent)
    assert (scene.decide(agent, "approve")["answer"], scene.done) == ("found", [READ])
    fork(scene, agent, rerun=["look"])
    assert (scene.decide(agent, "approve")["answer"], scene.done) == ("again", [READ, READ])


def test_a_request_left_to_a_model_with_tools_begins_anew(scene: Scene) -> None:
    call = scene.calls(("work__read", {"name": READ}))
    agent = scene.agent(call, "the answer", call, "again", planning={"mode": "never"})
    scene.ask(agent, "Read a")
    assert fork(scene, agent)["answer"] == "again"
    assert scene.done == [READ, READ]


def test_a_capability_that_is_gone_sends_the_plan_back_to_the_planner(scene: Scene) -> None:
    ended(scene)
    before = scene.done
    settings = {"modules": ["tests.scenarios.scenario_work"], "prohibit": ["work.write"]}
    other = scene.plan(scene.step("other", "work.read"))
    agent = scene.agent(other, "the answer", capabilities=settings)
    assert fork(scene, agent, rerun=[WRITE])["status"] == "completed"
    assert since(scene, before) == ["other"]
    verified = [event["data"] for event in scene.journal() if event["type"] == "plan_verified"]
    assert verified[0]["findings"][0]["code"] == "unknown_capability"


def test_kept_steps_cost_no_calls_of_the_budget(scene: Scene) -> None:
    ended(scene)
    agent = scene.agent("the answer", budgets={"run": {"tool_calls": 1}})
    fork(scene, agent, rerun=["beside"])
    assert scene.decide(agent, "approve")["status"] == "completed"


@pytest.mark.parametrize("job", ["fork", "status", "checkpoint", "plan", "gate"])
def test_a_fork_killed_on_its_way_to_the_gate_goes_on_by_its_thread(job: str, scene: Scene) -> None:
    agent = ended(scene)
    before, source = scene.done, scene.thread
    begin = scene.entry("fork", into="the-fork", rerun=[WRITE])
    scene.child(begin, scene.entry(thread="the-fork"), replies=["never asked"], die_at=job)
    scene.thread = "the-fork"
    output = scene.recover(agent)
    assert (len(output["__interrupt__"]), since(scene, before)) == (1, [])
    scene.decide(agent, "approve")
    assert since(scene, before) == ["b:after 1", "c"]
    assert steps(scene, "the-fork")[READ]["kept_from"] == run_of(scene, source)


@pytest.mark.parametrize("job", ["decision", "intent", "done", "step", "writes", "end"])
def test_a_fork_killed_while_it_runs_does_each_step_once(job: str, scene: Scene) -> None:
    agent = ended(scene)
    before = scene.done
    fork(scene, agent, rerun=[LAST])
    approve = scene.entry(resume={"decisions": [{"type": "approve"}]})
    scene.child(approve, replies=["the answer"], die_at=job)
    assert scene.recover(agent)["status"] == "completed"
    assert since(scene, before) == ["c"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"source": "nowhere"}, "there is no thread or run nowhere"),
        ({"checkpoint_id": "1f0"}, "has no checkpoint 1f0"),
        ({"rerun": ["z"]}, "the plan has no step z"),
        ({"rerun": ["respond"]}, "the plan has no step respond"),
        ({"thread_id": "same"}, "there is a thread same already"),
    ],
    ids=["thread", "checkpoint", "step", "closing step", "new thread"],
)
def test_what_cannot_be_forked_so_is_refused_and_changes_nothing(
    options: dict[str, Any], says: str, scene: Scene
) -> None:
    scene.thread = "same"
    agent = ended(scene)
    before = scene.everything()
    with pytest.raises(RunError, match=says):
        agent.fork(**{"source": scene.thread, **options})
    assert scene.everything() == before
    assert scene.rows("SELECT * FROM forks") == []


def test_no_step_can_be_named_where_there_is_no_plan(scene: Scene) -> None:
    agent = ended(scene)
    with pytest.raises(RunError, match="no plan there"):
        agent.fork(scene.thread, at(scene, agent, "planner"), rerun=[READ])


def test_a_checkpoint_from_before_its_run_began_is_refused(scene: Scene) -> None:
    agent = ended(scene)
    first = list(agent.get_state_history(scene.config))[-1]
    with pytest.raises(RunError, match="its run had not begun"):
        agent.fork(first.config)


def test_a_checkpoint_of_another_run_is_refused(scene: Scene) -> None:
    agent = ended(scene)
    first, checkpoint = run_of(scene, scene.thread), at(scene, agent, "score")
    second = scene.agent('{"task": "Do it again"}', scene.plan(scene.step("x", "work.read")), "second")
    scene.ask(second, "Do it again")
    (latest,) = scene.rows("SELECT run_id FROM runs WHERE run_id != ?", first)
    with pytest.raises(RunError, match=f"belongs to run {first}"):
        agent.fork(latest["run_id"], checkpoint)


def test_a_dry_run_is_refused(scene: Scene) -> None:
    agent = scene.agent(chain(scene))
    agent.invoke({"messages": [("user", "Do it")]}, scene.config, context={"dry_run": True})
    with pytest.raises(RunError, match="was a dry run"):
        agent.fork(scene.thread)


def test_a_run_whose_process_died_has_to_be_finished_first(scene: Scene) -> None:
    agent = scene.agent(chain(scene), "the answer")
    scene.ask(agent)
    approve = scene.entry(resume={"decisions": [{"type": "approve"}]})
    scene.child(approve, replies=["the answer"], die_at="intent")
    with pytest.raises(RunError, match="planwright resume"):
        agent.fork(scene.thread)
    assert scene.recover(agent)["status"] == "completed"
    fork(scene, agent)
    assert scene.decide(agent, "approve")["status"] == "completed"


async def test_a_run_that_is_being_worked_on_is_refused(scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step(READ, "work.read")), "the answer")
    stream = agent.astream({"messages": [("user", "Do it")]}, scene.config)
    await anext(stream)
    with pytest.raises(RunError, match="is being worked on by process"):
        await agent.afork(scene.thread)
    assert [chunk async for chunk in stream]
    assert (await agent.aget_state(scene.config)).values["status"] == "completed"


def in_doubt(scene: Scene) -> Agent:
    """Kill a process in the middle of a blind call, and bring its run to an end."""
    plan = scene.plan(scene.step(READ, "work.read"), scene.step("gone", "work.destroy", READ))
    agent = scene.agent(plan, "the answer")
    scene.ask(agent)
    scene.decide(agent, "approve")
    (scene.workspace / "die-gone").touch()
    approve = scene.entry(resume={"decisions": [{"type": "approve"}]})
    scene.child(approve, replies=["the answer"], dies=True)
    scene.recover(agent)
    assert scene.decide(agent, "reject")["status"] == "escalated"
    return agent


def test_what_may_have_happened_runs_again_only_when_it_is_named(scene: Scene) -> None:
    agent = in_doubt(scene)
    before = scene.everything()
    with pytest.raises(RunError, match="nobody knows whether step gone"):
        agent.fork(scene.thread)
    assert scene.everything() == before
    fork(scene, agent, rerun=["gone"])
    scene.decide(agent, "approve")
    assert scene.done == [READ, "began gone"]
    scene.decide(agent, "approve")
    assert scene.done == [READ, "began gone", "gone"]


def test_a_read_that_comes_after_a_write_is_made_again_with_it(scene: Scene) -> None:
    note = {"path": "a.txt"}
    plan = scene.plan(
        scene.step("before", "files.read", params=note),
        scene.step("write", "files.write", params={**note, "text": "new"}),
        scene.step("read", "files.read", params=note),
        scene.step("other", "work.read"),
    )
    (scene.workspace / "a.txt").write_text("old", "utf-8")
    agent = scene.agent(plan, "the answer")
    scene.ask(agent)
    scene.decide(agent, "approve")
    fork(scene, agent, rerun=["write"])
    scene.decide(agent, "approve")
    kept = {id_: bool(step["kept_from"]) for id_, step in steps(scene, scene.thread).items()}
    assert kept == {"before": True, "write": False, "read": False, "other": True}
