"""The three patterns of a model that goes round in circles, at their exact counts."""

from __future__ import annotations

import pytest

from planwright.nodes.loop.loop_guard import find_trips
from planwright.settings.execution import LoopGuardSettings

A, B, C = "a(1)", "b(1)", "c(1)"
SPREAD = [f"other({n})" for n in range(60)]


def found(calls: list[str]) -> set[tuple[str, str]]:
    """Name the patterns at the end of some calls, with their severity."""
    return {(trip.pattern, trip.severity) for trip in find_trips(calls[-30:], LoopGuardSettings())}


@pytest.mark.parametrize(
    ("row", "severity"),
    [(1, None), (2, None), (3, "warning"), (4, "warning"), (5, "critical"), (9, "critical")],
)
def test_the_same_call_in_a_row_warns_at_three_and_is_refused_at_five(row: int, severity: str | None) -> None:
    assert found([B, C, *[A] * row]) == ({("poll_no_progress", severity)} if severity else set())


@pytest.mark.parametrize(
    ("times", "severity"),
    [(9, None), (10, "warning"), (19, "warning"), (20, "critical"), (29, "critical"), (30, "break")],
)
def test_the_same_call_in_the_window_warns_at_ten_and_breaks_at_thirty(
    times: int, severity: str | None
) -> None:
    window = [*SPREAD[: 30 - times], *[A] * times]
    repeats = {(pattern, how) for pattern, how in found(window) if pattern == "generic_repeat"}
    assert repeats == ({("generic_repeat", severity)} if severity else set())


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_call_counts_wherever_it_stands_in_its_reply(place: int) -> None:
    """A model that makes several calls at once goes round in circles with any of them."""
    window: list[str] = []
    for n in range(10):
        reply = [SPREAD[2 * n], SPREAD[2 * n + 1]]
        reply.insert(place, A)
        window += reply
    trips = find_trips(window[-30:], LoopGuardSettings(), reply)
    assert [(trip.pattern, trip.severity, trip.signature) for trip in trips] == [
        ("generic_repeat", "warning", A)
    ]


def test_calls_that_left_the_window_are_forgotten() -> None:
    assert found([*[A] * 9, *SPREAD[:29], A]) == set()


@pytest.mark.parametrize(
    ("calls", "trips"),
    [
        ([A, B, A, B], True),
        ([C, C, A, B, A, B], True),
        ([A, B, A], False),
        ([A, B, B, A], False),
        ([A, B, A, C], False),
        ([A, A, A, A], False),
        ([A, B, A, B, B], True),
        ([A, B, A, B, C], False),
        ([A, B, A, B, B, B, B], False),
    ],
)
def test_two_calls_in_turn_warn(calls: list[str], trips: bool) -> None:
    assert (("ping_pong", "warning") in found(calls)) is trips


def test_a_call_that_was_never_made_trips_nothing() -> None:
    assert found([]) == set()
    assert found([A]) == set()
