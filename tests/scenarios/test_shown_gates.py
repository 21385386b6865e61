"""An answer that names no gate is meant for what was shown: never for a gate that was opened since."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from langgraph.types import StreamMode

from planwright.domain.errors import GateError
from planwright.graph.agent import Agent

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene


def two_people(scene: Scene) -> tuple[Agent, Agent]:
    """Let two processes show one plan, whose step has a gate of its own."""
    plan = scene.plan(scene.step("s1", "work.destroy"))
    kim, lee = (scene.agent(plan, "done") for _ in range(2))
    scene.ask(kim)
    assert list(scene.waiting(lee)) == ["plan"]
    return kim, lee


def test_a_second_bare_approval_opens_no_gate_that_its_sender_has_not_seen(scene: Scene) -> None:
    kim, lee = two_people(scene)
    scene.decide(kim, "approve")
    with pytest.raises(GateError, match="was opened since"):
        scene.decide(lee, "approve")
    assert scene.done == []
    (gate_id,) = scene.waiting(lee).values()  # lee looks, and sees it
    assert scene.decide(lee, "approve")["status"] == "completed"
    assert scene.done == ["s1"]
    assert scene.rows("SELECT status FROM gates WHERE gate_id = ?", gate_id)[0]["status"] == "approved"


@pytest.mark.parametrize("mode", ["updates", "values"])
def test_who_reads_a_stream_up_to_its_gate_has_seen_it(scene: Scene, mode: StreamMode) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.destroy")), "done")
    request = {"messages": [("user", "Do it")]}
    for chunk in agent.stream(request, scene.config, stream_mode=mode):
        if "__interrupt__" in chunk:
            break
    assert "__interrupt__" in scene.decide(agent, "approve")  # the gate of the step
    assert scene.decide(agent, "approve")["status"] == "completed"


def test_a_look_back_hides_nothing_of_what_waits(scene: Scene) -> None:
    _, lee = two_people(scene)
    scene.decide(lee, "approve")
    first = list(lee.get_state_history(scene.config))[-1]
    lee.get_state(first.config)
    assert scene.decide(lee, "approve")["status"] == "completed"


def test_an_answer_that_names_its_gate_is_taken_whoever_has_shown_it(scene: Scene) -> None:
    kim, lee = two_people(scene)
    scene.decide(kim, "approve")
    (gate_id,) = scene.waiting(kim).values()
    assert scene.answer(lee, {"type": "approve", "gate_id": gate_id})["status"] == "completed"


def test_a_process_that_has_shown_nothing_takes_a_bare_answer(scene: Scene) -> None:
    kim, _ = two_people(scene)
    scene.decide(kim, "approve")
    assert scene.decide(scene.agent("done"), "approve")["status"] == "completed"
