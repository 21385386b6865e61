"""A process dies between a gate and its event: whoever goes on, or ends the run, tells of the gate."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from planwright.domain.clock import utc_now
from planwright.records.consent.gate import Decision
from planwright.records.ownership.cancelling import cancel
from planwright.records.records import Records, open_records
from tests.opened_store import store_url

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

SHAPES: dict[str, Callable[[Scene], list[dict[str, Any]]]] = {
    "plan": lambda scene: [scene.step("s1", "work.write", estimated_risk="Medium")],
    "step": lambda scene: [scene.step("s1", "work.destroy")],
    "escalation": lambda scene: [scene.step("s1", "work.fail")],
}


def on_record(scene: Scene) -> Records:
    """Open the records alone, as another process would."""
    return open_records(scene.workspace / ".planwright", url=store_url())


def die_at_gate(scene: Scene, shape: str) -> str:
    """Let a process die right after the commit of a gate, and return the id of the gate."""
    replies = [scene.plan(*SHAPES[shape](scene)), "the answer"]
    plan = "always" if shape == "plan" else "never"
    settings = {"approval": {"plan": plan}, "planning": {"replan_budget": 0}}
    scene.child(scene.entry(message="Do it"), replies=replies, settings=settings, die_at="gate")
    ((gate),) = scene.rows("SELECT gate_id, kind FROM gates WHERE status = 'open'")
    assert gate["kind"] == shape
    assert not [event for event in scene.journal() if event["type"] == "approval_requested"]
    return str(gate["gate_id"])


def told(scene: Scene, gate_id: str) -> list[tuple[str, Any]]:
    """List what the journal tells of a gate, in order."""
    events = [event for event in scene.journal() if event["data"].get("gate_id") == gate_id]
    return [(event["type"], event["data"].get("decision", event["data"].get("kind"))) for event in events]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_gate_that_is_rejected_before_anybody_goes_on_is_told_of(scene: Scene, shape: str) -> None:
    gate_id = die_at_gate(scene, shape)
    no = Decision(answer="reject", decided_by="ada", channel="cli")
    with closing(on_record(scene)) as records:
        asyncio.run(records.gates.decide(gate_id, no, utc_now()))
    ended = scene.recover(scene.agent("the answer"))["status"]
    assert ended == ("failed" if shape == "escalation" else "rejected")
    assert told(scene, gate_id) == [("approval_requested", shape), ("approval_resolved", "rejected")]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_gate_of_a_run_that_is_cancelled_is_told_of(scene: Scene, shape: str) -> None:
    gate_id = die_at_gate(scene, shape)
    with closing(on_record(scene)) as records:
        run = asyncio.run(cancel(records, scene.thread, "ada"))
    assert run.status == "cancelled"
    assert told(scene, gate_id) == [("approval_requested", shape), ("approval_resolved", "cancelled")]
    numbers = [event["seq"] for event in scene.journal()]
    assert numbers == [*range(1, len(numbers) + 1)]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_gate_is_told_of_once_by_whoever_goes_on(scene: Scene, shape: str) -> None:
    gate_id = die_at_gate(scene, shape)
    scene.recover(scene.agent("the answer"))
    assert told(scene, gate_id) == [("approval_requested", shape)]
