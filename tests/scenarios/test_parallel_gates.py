"""Two lanes at their own gates: the rest of the plan goes on, and each answer finds its gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest
from langgraph.types import Command

from planwright.domain.errors import GateError
from planwright.graph.serving.visible_gates import visible_chunks, visible_state

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene


@pytest.fixture
def agent(scene: Scene) -> Agent:
    """Approve a plan of two gated steps and a free one, each with a dependent; `end` needs all."""
    steps = [
        scene.step("a", "work.destroy"),
        scene.step("b", "work.destroy"),
        scene.step("free", "work.read"),
        scene.step("after_a", "work.read", "a"),
        scene.step("after_b", "work.read", "b"),
        scene.step("after_free", "work.read", "free"),
        scene.step("end", "work.read", "after_a", "after_b", "after_free"),
    ]
    agent = scene.agent(scene.plan(*steps), "the answer")
    scene.ask(agent)
    scene.decide(agent, "approve")
    return agent


def named(scene: Scene, agent: Agent, step: str, decision: str = "approve") -> dict[str, Any]:
    """Answer one gate by naming it in the decision."""
    gate = scene.waiting(agent)[step]
    return scene.answer(agent, {"decisions": [{"type": decision}], "gate_id": gate})


def test_a_free_lane_runs_on_to_its_end_while_two_gates_wait(scene: Scene, agent: Agent) -> None:
    assert scene.done == ["free", "after_free"]
    assert sorted(scene.waiting(agent)) == ["a", "b"]


@pytest.mark.parametrize(("first", "second"), [("a", "b"), ("b", "a")])
def test_a_dependent_starts_as_soon_as_its_own_gate_is_answered(
    first: str, second: str, scene: Scene, agent: Agent
) -> None:
    named(scene, agent, first)
    assert scene.done == ["free", "after_free", first, f"after_{first}"]
    assert list(scene.waiting(agent)) == [second]


@pytest.mark.parametrize(("first", "second"), [("a", "b"), ("b", "a")])
def test_gates_may_be_answered_in_either_order(first: str, second: str, scene: Scene, agent: Agent) -> None:
    named(scene, agent, first)
    output = named(scene, agent, second)
    assert scene.done[2:] == [first, f"after_{first}", second, f"after_{second}", "end"]
    assert (output["status"], output["answer"]) == ("completed", "the answer")


def test_one_lane_rejected_skips_its_dependent_and_not_the_other(scene: Scene, agent: Agent) -> None:
    named(scene, agent, "a", "reject")
    output = named(scene, agent, "b")
    assert scene.done == ["free", "after_free", "b", "after_b", "end"]
    assert output["status"] == "completed_with_skips"


def test_a_recovery_after_one_answer_leaves_the_other_gate_open(scene: Scene, agent: Agent) -> None:
    named(scene, agent, "a")
    scene.recover(agent)
    assert "b" not in scene.done
    assert list(scene.waiting(agent)) == ["b"]


def test_a_map_by_interrupt_id_answers_the_gate_of_that_interrupt(scene: Scene, agent: Agent) -> None:
    found = {item.value["shown"]["step_id"]: item.id for item in agent.get_state(scene.config).interrupts}
    scene.answer(agent, {found["b"]: {"decisions": [{"type": "approve"}]}})
    assert scene.done[2:] == ["b", "after_b"]
    assert list(scene.waiting(agent)) == ["a"]


def test_a_map_by_gate_id_answers_several_gates_at_once(scene: Scene, agent: Agent) -> None:
    gates = scene.waiting(agent)
    output = scene.answer(agent, {gates["a"]: "approve", gates["b"]: "reject"})
    assert sorted(scene.done[2:]) == ["a", "after_a", "end"]
    assert output["status"] == "completed_with_skips"


@pytest.mark.parametrize("answer", [{"decisions": [{"type": "approve"}]}, "approve", True, "reject"])
def test_a_bare_answer_with_two_gates_open_is_refused_and_changes_nothing(
    answer: Any, scene: Scene, agent: Agent
) -> None:
    before = scene.everything()
    with pytest.raises(GateError, match="2 gates are open"):
        scene.answer(agent, answer)
    assert scene.everything() == before
    assert sorted(scene.waiting(agent)) == ["a", "b"]


def test_a_map_with_one_wrong_answer_decides_no_gate_at_all(scene: Scene, agent: Agent) -> None:
    gates, before = scene.waiting(agent), scene.everything()
    stale = {"type": "approve", "plan_hash": "0" * 64}
    with pytest.raises(GateError, match="plan_hash"):
        scene.answer(agent, {gates["a"]: "approve", gates["b"]: stale})
    assert scene.everything() == before


def test_a_map_whose_answer_names_the_other_gate_decides_no_gate_at_all(scene: Scene, agent: Agent) -> None:
    gates, before = scene.waiting(agent), scene.everything()
    with pytest.raises(GateError):
        scene.answer(agent, {gates["a"]: {"type": "approve", "gate_id": gates["b"]}})
    assert scene.everything() == before


def test_a_map_that_names_one_gate_twice_decides_no_gate_at_all(scene: Scene, agent: Agent) -> None:
    found = {item.value["shown"]["step_id"]: item.id for item in agent.get_state(scene.config).interrupts}
    gates, before = scene.waiting(agent), scene.everything()
    with pytest.raises(GateError):
        scene.answer(agent, {found["a"]: "approve", gates["a"]: "reject"})
    assert scene.everything() == before


def question(agent: Agent, scene: Scene) -> Any:
    """Read what a page is shown of the thread: one question."""
    (shown,) = visible_state(agent.get_state(scene.config)).interrupts
    return shown.value


@pytest.mark.parametrize("name", ["none", "in a map", "beside"])
def test_one_answer_decides_all_gates_by_their_place_in_the_one_question(
    name: str, scene: Scene, agent: Agent
) -> None:
    asked = question(agent, scene)
    names = [request["args"]["name"] for request in asked["action_requests"]]
    assert sorted(names) == ["a", "b"]
    answer: dict[str, Any] = {"decisions": [{"type": "approve"}, {"type": "reject", "message": "not today"}]}
    named = {"none": answer, "in a map": {asked["gate_id"]: answer}}
    output = scene.answer(agent, named.get(name, {**answer, "gate_id": asked["gate_id"]}))
    assert scene.done[2:] == [names[0], f"after_{names[0]}", "end"]
    assert output["status"] == "completed_with_skips"
    reasons = scene.rows("SELECT status, reason FROM gates WHERE kind = 'step' ORDER BY status")
    assert [tuple(row.values()) for row in reasons] == [("approved", ""), ("rejected", "not today")]


@pytest.mark.parametrize("number", [1, 3])
def test_another_number_of_decisions_than_actions_is_refused(number: int, scene: Scene, agent: Agent) -> None:
    before = scene.everything()
    cause = f"has {number} decisions? for 2 actions\nsend 2 decisions"
    with pytest.raises(GateError, match=cause):
        scene.answer(agent, {"decisions": [{"type": "approve"}] * number})
    assert scene.everything() == before


def test_a_decision_in_the_place_of_another_gate_than_it_names_is_refused(scene: Scene, agent: Agent) -> None:
    gates, before = question(agent, scene)["gates"], scene.everything()
    decisions = [{"type": "approve", "gate_id": gate["gate_id"]} for gate in reversed(gates)]
    with pytest.raises(GateError, match="another gate than it names"):
        scene.answer(agent, {"decisions": decisions})
    assert scene.everything() == before


def test_the_one_question_is_gone_once_one_of_its_gates_is_answered(scene: Scene, agent: Agent) -> None:
    asked = question(agent, scene)
    named(scene, agent, "a")
    before = scene.everything()
    decisions = {"decisions": [{"type": "approve"}, {"type": "approve"}]}
    for answer in (decisions, {asked["gate_id"]: decisions}, {**decisions, "gate_id": asked["gate_id"]}):
        with pytest.raises(GateError):
            scene.answer(agent, answer)
    assert scene.everything() == before
    assert list(scene.waiting(agent)) == ["b"]


async def test_the_list_of_threads_has_the_one_question_too(scene: Scene) -> None:
    """LangGraph's server lists a thread with what the results of its tasks say of interrupts."""
    plan = scene.plan(*(scene.step(name, "work.destroy") for name in "abc"))
    agent = scene.agent(plan, "the answer")
    await agent.ainvoke({"messages": [("user", "Do it")]}, scene.config)
    answer: Any = Command(resume={"decisions": [{"type": "approve"}]})
    modes = ["values", "debug"]
    stream = visible_chunks(agent.astream(answer, scene.config, stream_mode=modes, subgraphs=True))
    by_task: dict[str, Any] = {}
    async for chunk in stream:
        *place, body = cast("tuple[Any, ...]", chunk)
        if place == [(), "debug"] and body["type"] == "task_result":
            by_task[body["payload"]["id"]] = body["payload"]["interrupts"]
    (shown,) = [each for interrupts in by_task.values() for each in interrupts]
    state = visible_state(await agent.aget_state(scene.config))
    assert [(shown["value"], shown["id"])] == [(each.value, each.id) for each in state.interrupts]
    assert [each for task in state.tasks for each in task.interrupts] == [*state.interrupts]
    assert len(shown["value"]["gates"]) == 3
    assert state.values["messages"][-1].text == shown["value"]["description"]
