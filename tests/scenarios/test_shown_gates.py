"""An answer that names no gate is meant for what was shown: never for a gate that was opened since."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

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


def test_an_answer_that_names_its_gate_is_taken_whoever_has_shown_it(scene: Scene) -> None:
    kim, lee = two_people(scene)
    scene.decide(kim, "approve")
    (gate_id,) = scene.waiting(kim).values()
    assert scene.answer(lee, {"type": "approve", "gate_id": gate_id})["status"] == "completed"


def test_a_process_that_has_shown_nothing_takes_a_bare_answer(scene: Scene) -> None:
    kim, _ = two_people(scene)
    scene.decide(kim, "approve")
    assert scene.decide(scene.agent("done"), "approve")["status"] == "completed"
