"""The life of a session: each state, each step from one to the next, and each event, by real workers.

`LIVES` says which states a session passes through and which events it tells on the way; each life is played
against that. What the code allows and names is compared with the lists here, and with what the lives show.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import get_args

import pytest

from planwright.domain.events import EventType
from planwright.domain.results import NEXT, RunStatus
from planwright.records.queue.session import Session, SessionState
from planwright.settings.workspace import QueueSettings
from tests.extras.worker import lives
from tests.extras.worker.conftest import AtWork
from tests.extras.worker.door import Door
from tests.extras.worker.lives import Stage
from tests.scenarios.conftest import Scene

pytestmark = pytest.mark.sqlite  # a trigger writes down what a session passes through

QUEUED, BUSY, GATE, PAUSED = "queued", "in_progress", "awaiting_gate", "paused"
ENDS = ("completed", "failed", "rejected", "cancelled", "expired")
STEPS: dict[str, set[str]] = {
    QUEUED: {BUSY, PAUSED, "cancelled", "expired"},
    BUSY: {GATE, PAUSED, QUEUED, *ENDS},
    GATE: {BUSY, "rejected", "cancelled", "expired"},
    PAUSED: {BUSY, QUEUED, "cancelled", "expired"},
}
THROUGH_A_WORKER = {(GATE, "rejected")}
"""A rejection is carried out by whoever takes the run up, so it is in progress for that moment."""
EVENTS = {
    *("task_queued", "task_started", "task_completed", "task_failed", "checkpoint"),
    *("session_paused", "session_resumed", "session_extended", "session_progress"),
}


@dataclass(frozen=True)
class Life:
    """One session from its queue to its end."""

    play: Callable[[Stage], Awaitable[None]]
    states: tuple[str, ...]
    events: tuple[str, ...]


BEGUN, UNBEGUN = ("task_queued", "task_started"), ("task_queued", "session_paused")
TOLD, WELL, BADLY = ("session_extended", "session_progress"), "task_completed", "task_failed"
LIVES = (
    Life(lives.done, (QUEUED, BUSY, "completed"), (*BEGUN, "checkpoint", WELL)),
    Life(lives.approved, (QUEUED, BUSY, GATE, BUSY, "completed"), (*BEGUN, "checkpoint", WELL)),
    Life(lives.rejected, (QUEUED, BUSY, GATE, BUSY, "rejected"), (*BEGUN, BADLY)),
    Life(lives.cancelled_at_its_gate, (QUEUED, BUSY, GATE, "cancelled"), (*BEGUN, BADLY)),
    Life(lives.expired_at_its_gate, (QUEUED, BUSY, GATE, "expired"), (*BEGUN, BADLY)),
    Life(lives.left_by_its_gate, (QUEUED, BUSY, GATE, BUSY, "expired"), (*BEGUN, BADLY)),
    Life(
        lives.paused_and_resumed,
        (QUEUED, BUSY, PAUSED, QUEUED, BUSY, "completed"),
        (*BEGUN, "session_paused", "session_resumed", "checkpoint", WELL),
    ),
    Life(
        lives.gone_on_with_by_a_person,
        (QUEUED, PAUSED, BUSY, "completed"),
        (*UNBEGUN, "task_started", "checkpoint", WELL),
    ),
    Life(lives.cancelled_while_paused, (QUEUED, PAUSED, "cancelled"), (*UNBEGUN, BADLY)),
    Life(lives.expired_while_paused, (QUEUED, PAUSED, "expired"), (*UNBEGUN, BADLY)),
    Life(lives.cancelled_in_the_queue, (QUEUED, "cancelled"), ("task_queued", BADLY)),
    Life(lives.expired_in_the_queue, (QUEUED, "expired"), ("task_queued", BADLY)),
    Life(lives.cancelled_at_work, (QUEUED, BUSY, "cancelled"), (*BEGUN, BADLY)),
    Life(lives.expired_at_work, (QUEUED, BUSY, "expired"), (*BEGUN, BADLY)),
    Life(lives.handed_over, (QUEUED, BUSY, QUEUED, BUSY, "completed"), (*BEGUN, "checkpoint", WELL)),
    Life(lives.given_more, (QUEUED, BUSY, "completed"), (*BEGUN, *TOLD, WELL)),
    Life(lives.failed_by_the_death_of_its_worker, (QUEUED, BUSY, "failed"), (*BEGUN, BADLY)),
)


def state_of(status: RunStatus) -> SessionState:
    """Say which state of a session the status of its run stands for."""
    now = datetime.now(UTC)
    session = Session(
        run_id="r",
        thread_id="t",
        tenant="default",
        status=status,
        request="",
        requested_at=now,
        expires_at=now,
    )
    return session.state


@pytest.mark.parametrize("life", LIVES, ids=lambda life: life.play.__name__)
async def test_a_session_passes_through_its_states_and_tells_of_them(
    scene: Scene, door: Door, at_work: AtWork, life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planwright.graph.entry.watching.LOOK_S", 0.01)
    await life.play(Stage(scene, door, at_work))
    passed = scene.rows("SELECT status FROM passed_through ORDER BY rowid")
    assert (QUEUED, *(state_of(row["status"]) for row in passed)) == life.states
    events = [event["type"] for event in scene.journal()]
    assert in_order(life.events, events), events
    assert not (set(events) & EVENTS) - {*life.events, "checkpoint", "session_progress"}


def in_order(some: tuple[str, ...], every: list[str]) -> bool:
    """Say whether all of some stand among every one, in this order."""
    rest = iter(every)
    return all(one in rest for one in some)


def test_the_states_and_steps_are_those_of_the_code() -> None:
    assert {*STEPS, *ENDS} == set(get_args(SessionState))
    allowed = {state_of(before): {state_of(after) for after in NEXT[before]} for before in NEXT}
    assert allowed == STEPS


def test_each_state_and_each_step_is_lived() -> None:
    lived = {step for life in LIVES for step in pairwise(life.states)}
    steps = {(before, after) for before, all_after in STEPS.items() for after in all_after}
    assert lived == steps - THROUGH_A_WORKER
    assert all((before, BUSY) in lived and (BUSY, after) in lived for before, after in THROUGH_A_WORKER)


def test_each_event_of_a_session_is_told() -> None:
    of_sessions = ("task_", "session_", "checkpoint")
    assert {name for name in get_args(EventType) if name.startswith(of_sessions)} == EVENTS
    assert {event for life in LIVES for event in life.events} == EVENTS


def test_a_queue_is_bounded_where_the_settings_say_nothing() -> None:
    queue = QueueSettings()
    assert (queue.capacity, queue.max_concurrent, queue.max_execution_time_s) == (100, 3, 7200)
