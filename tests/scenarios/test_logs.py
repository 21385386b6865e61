"""What an operator reads of a run in the logs of a program, and that it holds nothing of what was done."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

CANARY = "canary-1f0d9c"


def test_a_run_its_gate_and_its_effect_are_logged_without_arguments_or_results(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    destroy = scene.step("s2", "work.destroy", "s1", params={"name": CANARY, "text": CANARY})
    plan = scene.plan(scene.step("s1", "work.read"), destroy, goal=CANARY)
    agent = scene.agent(plan, CANARY)
    with caplog.at_level(logging.DEBUG, "planwright"):
        scene.ask(agent, f"Do it to {CANARY}")
        scene.decide(agent, "approve", CANARY)
        assert scene.decide(agent, "approve", CANARY)["status"] == "completed"
    lines = [(record.name.removeprefix("planwright."), record.getMessage()) for record in caplog.records]
    starts = [(room, message.split()[0]) for room, message in lines]
    wanted = [
        *(("graph", "run_start"), ("planning", "plan_created"), ("planning", "plan_verified")),
        *(("approvals", "approval_requested"), ("approvals", "approval_resolved")),
        *(("execution", "plan_step_start"), ("execution", "plan_step_complete"), ("models", "llm_call")),
        *(("critic", "verdict"), ("graph", "run_end")),
    ]
    assert [start for start in wanted if start not in starts] == []
    assert [room for room, message in lines if "effect of work.destroy recorded as done" in message] == [
        "checkpoints"
    ]
    assert any(room == "graph" and " waits at gate_" in message for room, message in lines)
    assert any(room == "graph" and " goes on" in message for room, message in lines)
    assert CANARY not in str([vars(record) for record in caplog.records])


def test_a_store_of_an_older_version_is_migrated_and_a_new_one_is_not(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "planwright.checkpoints"):
        scene.ask(scene.agent(scene.plan(scene.step("s1", "work.read")), "done"))
    assert not [message for message in caplog.messages if "migrated" in message]


def test_taking_a_run_over_is_a_warning(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    (scene.workspace / "die-s1").touch()
    plan = scene.plan(scene.step("s1", "work.write"))
    approve = {"decisions": [{"type": "approve"}]}
    scene.child(scene.entry(message="Do it"), scene.entry(resume=approve), replies=[plan, "done"], dies=True)
    with caplog.at_level(logging.WARNING, "planwright.checkpoints"):
        scene.recover(scene.agent("done"))
    assert any("is taken from" in message for message in caplog.messages)
