"""Two lanes at their own gates: the rest of the plan goes on, and each answer finds its gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from planwright.domain.errors import GateError

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
