"""Which events have a line of their own: one failure is said as it happens, and in the end at most."""

from __future__ import annotations

from typing import Any

import pytest

from planwright.cli.session.event_lines import is_detail, repeats
from planwright.presentation.rows import RunEvent


def event(kind: Any, **data: Any) -> RunEvent:
    """Make an event of a run."""
    base: Any = {"v": 1, "seq": 1, "ts": "2026-11-27T12:00:00+00:00", "run_id": "r", "thread_id": "t"}
    made: RunEvent = {**base, "type": kind, "data": data}
    return made


@pytest.mark.parametrize(("move", "left_out"), [("end", True), ("wait", False), ("next_provider", False)])
def test_that_nobody_else_is_asked_is_said_by_the_answer(move: str, left_out: bool) -> None:
    assert is_detail(event("failover", move=move, cause="refused", wait_s=1, next="b")) is left_out


@pytest.mark.parametrize(
    ("verdict", "reason", "said"),
    [
        ("escalate", "call: not today", True),
        ("escalate", "call: not judged", False),
        ("replan", "call: not today", False),
        ("accept", "every step succeeded", False),
    ],
)
def test_a_verdict_has_a_line_where_it_gives_another_reason(verdict: str, reason: str, said: bool) -> None:
    assert repeats(event("verdict", verdict=verdict, reason=reason), ["failed: not today"]) is said
    assert not repeats(event("verdict", verdict=verdict, reason=reason), [])
