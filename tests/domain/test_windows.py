"""Days and months in UTC: where they begin and end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planwright.domain.clock import Window, day_of, month_of, utc_text

MOMENTS = st.datetimes(datetime(1970, 1, 2), datetime(2199, 12, 30), timezones=st.just(UTC))


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("moment", "day", "month"),
    [
        ("2026-11-21T00:00:00+00:00", "2026-11-21", "2026-11"),
        ("2026-11-21T23:59:59.999999+00:00", "2026-11-21", "2026-11"),
        ("2026-11-30T23:59:59.999999+00:00", "2026-11-30", "2026-11"),
        ("2026-12-01T00:00:00+00:00", "2026-12-01", "2026-12"),
        ("2026-12-31T23:59:59+00:00", "2026-12-31", "2026-12"),
        ("2027-01-01T00:00:00+00:00", "2027-01-01", "2027-01"),
        ("2027-02-28T23:59:59+00:00", "2027-02-28", "2027-02"),
        ("2028-02-28T23:59:59+00:00", "2028-02-28", "2028-02"),
        ("2028-02-29T00:00:00+00:00", "2028-02-29", "2028-02"),
        ("2028-03-01T00:00:00+00:00", "2028-03-01", "2028-03"),
        ("2100-02-28T12:00:00+00:00", "2100-02-28", "2100-02"),
        ("2026-11-21T23:30:00-05:00", "2026-11-22", "2026-11"),
        ("2026-12-01T00:30:00+01:00", "2026-11-30", "2026-11"),
        ("2027-01-01T12:00:00+14:00", "2026-12-31", "2026-12"),
    ],
)
def test_a_moment_belongs_to_its_day_and_month_in_utc(moment: str, day: str, month: str) -> None:
    assert (day_of(at(moment)).name, month_of(at(moment)).name) == (day, month)


@pytest.mark.parametrize(
    ("moment", "ends"),
    [
        ("2026-01-31T12:00:00+00:00", "2026-02-01"),
        ("2027-02-01T00:00:00+00:00", "2027-03-01"),
        ("2028-02-29T12:00:00+00:00", "2028-03-01"),
        ("2026-04-30T12:00:00+00:00", "2026-05-01"),
        ("2026-12-31T12:00:00+00:00", "2027-01-01"),
    ],
)
def test_a_month_ends_where_the_next_begins(moment: str, ends: str) -> None:
    assert month_of(at(moment)).end == ends


@given(MOMENTS)
def test_every_moment_lies_in_its_windows_as_a_text(moment: datetime) -> None:
    for window in (day_of(moment), month_of(moment)):
        assert window.start <= utc_text(moment) < window.end


@given(MOMENTS, st.sampled_from([day_of, month_of]))
def test_windows_meet_without_a_gap(moment: datetime, window_of: object) -> None:
    assert callable(window_of)
    window: Window = window_of(moment)
    end = at(f"{window.end}T00:00:00+00:00")
    following: Window = window_of(end)
    assert following.start == window.end
    assert window_of(end - timedelta(microseconds=1)) == window


@given(MOMENTS, MOMENTS, st.integers(-23, 23))
def test_texts_sort_as_moments_do(one: datetime, other: datetime, hours: int) -> None:
    elsewhere = other.astimezone(timezone(timedelta(hours=hours)))
    assert (utc_text(one) < utc_text(elsewhere)) == (one < other)
