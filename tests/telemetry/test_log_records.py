"""Events as log records: each at the logger of its subject, and nothing of what it was about."""

from __future__ import annotations

import logging
from typing import Any, get_args

import pytest

from planwright.domain.events import Event, EventType
from planwright.telemetry.event_fields import FIELDS
from planwright.telemetry.log_records import level_of, log_event
from tests.house.rooms import ROOMS

TYPES: tuple[EventType, ...] = get_args(EventType)
SUBJECTS = {*ROOMS, "sessions"}  # what operators filter by keeps its name; sessions are in several rooms


def event(type_: EventType, thread_id: str = "t", **data: Any) -> Event:
    ts = "2026-01-01T00:00:00+00:00"
    return Event(v=1, seq=1, ts=ts, run_id="run_1", thread_id=thread_id, type=type_, data=data)


@pytest.mark.parametrize("type_", TYPES)
def test_every_event_is_logged_in_a_room_without_its_words(
    type_: EventType, caplog: pytest.LogCaptureFixture
) -> None:
    words = ("content", "goal", "error", "cause", "reason", "args", "preview", "description", "plan")
    assert type_ in FIELDS
    with caplog.at_level(logging.DEBUG, "planwright"):
        log_event(event(type_, **dict.fromkeys(words, "canary"), step_id="s1"))
    (record,) = caplog.records
    assert record.name.removeprefix("planwright.") in SUBJECTS
    assert record.getMessage().startswith(f"{type_} run_id=run_1 thread_id=t")
    assert "canary" not in str(vars(record))


@pytest.mark.parametrize(
    ("heard", "level"),
    [
        (event("run_end", status="completed"), logging.INFO),
        (event("run_end", status="failed"), logging.WARNING),
        (event("plan_verified", outcome="replan"), logging.WARNING),
        (event("llm_call", input_tokens=1), logging.INFO),
        (event("llm_call", error="503"), logging.WARNING),
        (event("failover"), logging.WARNING),
        (event("progress"), logging.DEBUG),
    ],
)
def test_what_went_badly_is_a_warning(heard: Event, level: int) -> None:
    assert level_of(heard) == level


def test_a_value_stays_on_its_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "planwright"):
        log_event(event("run_end", "a\nERROR planwright.graph: forged", status="completed"))
    assert caplog.messages == [
        r"run_end run_id=run_1 thread_id='a\nERROR planwright.graph: forged' status=completed"
    ]


def test_nothing_is_configured_but_a_handler_that_writes_nowhere() -> None:
    log = logging.getLogger("planwright")
    assert [type(handler) for handler in log.handlers] == [logging.NullHandler]
    assert (log.level, log.propagate) == (logging.NOTSET, True)
