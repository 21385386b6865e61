"""The windows in which a provider's limits count: days and months, in UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal


@dataclass(frozen=True)
class Window:
    """`name` is what people read. Times in ISO 8601 from `start` on and before `end` belong to it."""

    period: Literal["day", "month"]
    """Whether it is a day or a month, of UTC."""
    name: str
    """What people read: `2026-11-22` for a day, `2026-11` for a month."""
    start: str
    """Its first day, as an ISO 8601 date; later texts of moments sort after it."""
    end: str
    """The first day after it, as an ISO 8601 date."""


def day_of(at: datetime) -> Window:
    """Find the day of a moment."""
    day = _date(at)
    return Window("day", day.isoformat(), day.isoformat(), (day + timedelta(days=1)).isoformat())


def month_of(at: datetime) -> Window:
    """Find the month of a moment."""
    first = _date(at).replace(day=1)
    following = (first + timedelta(days=31)).replace(day=1)
    return Window("month", f"{first:%Y-%m}", first.isoformat(), following.isoformat())


def utc_text(at: datetime) -> str:
    """Spell a moment so that texts sort as moments do, and after the name of their own day."""
    return at.astimezone(UTC).isoformat()


def _date(at: datetime) -> date:
    return at.astimezone(UTC).date()
