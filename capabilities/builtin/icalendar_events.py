"""The events of one iCalendar file (RFC 5545) in a window, as the sandbox reads them.

A rule may recur every second since year 1, and nothing in the format says where that ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from itertools import islice
from zoneinfo import ZoneInfo

import recurring_ical_events
from icalendar import Calendar, Event
from typing_extensions import TypedDict

MOST = 2000  # events of one file in one window
_TOO_OFTEN = ("SECONDLY", "MINUTELY")  # a year of them is 31 million events


class EventFields(TypedDict):
    """One event of a file, as `Meeting` takes it."""

    start: str
    """When it begins: ISO 8601 with offset, or a date for a whole day."""
    end: str
    """When it ends, spelled as `start`."""
    title: str
    """Title of the event."""
    location: str
    """Where it takes place; "" where the file does not say."""
    description: str
    """What the event is about; "" where the file does not say."""
    all_day: bool
    """Whether it takes whole days."""


def events(text: str, begin: datetime, until: datetime, zone: str) -> tuple[list[EventFields], list[str]]:
    """List the events of a file, and what of it could not be read.

    `zone` is the time zone that times are given in; "" for that of each event, UTC for those without one.
    """
    wrong: list[str] = []
    rows: list[EventFields] = []
    try:
        calendars = Calendar.from_ical(text, multiple=True)
        for calendar in calendars:
            wrong += _left_out(calendar)
            within = recurring_ical_events.of(calendar, skip_bad_series=True).between(begin, until)
            rows += [_fields(event, zone) for event in islice(_in_force(within), MOST + 1)]
    except (ValueError, LookupError, AttributeError, TypeError, ArithmeticError, RecursionError) as error:
        return [], [f"{type(error).__name__}: {error}"[:300]]
    if not calendars:
        wrong.append("it holds no calendar")
    if len(rows) > MOST:
        wrong.append(f"only the first {MOST} events are listed")
    return rows[:MOST], wrong


def _in_force(events: list[Event]) -> Iterator[Event]:
    return (event for event in events if str(event.get("STATUS", "")).upper() != "CANCELLED")


def _left_out(calendar: Calendar) -> list[str]:
    """Take out of a calendar what recurs too often to be listed, and what is broken, and name it."""
    wrong = []
    for event in list(calendar.subcomponents):
        rules = event.get("RRULE", [])
        often = [rule.get("FREQ", [""])[0] for rule in (rules if isinstance(rules, list) else [rules])]
        title = str(event.get("SUMMARY", "an event"))[:60]
        if any(str(freq).upper() in _TOO_OFTEN for freq in often):
            wrong.append(f"{title} recurs every minute or more often")
            calendar.subcomponents.remove(event)
        elif event.errors:
            wrong.append(f"{title}: {event.errors[0][1]}"[:200])
    return wrong


def _fields(event: Event, zone: str) -> EventFields:
    start, end = event.start, event.end
    return {
        "start": _iso(start, zone),
        "end": _iso(end, zone),
        "title": str(event.get("SUMMARY", ""))[:2000],
        "location": str(event.get("LOCATION", ""))[:2000],
        "description": str(event.get("DESCRIPTION", ""))[:2000],
        "all_day": not isinstance(start, datetime),
    }


def _iso(moment: date | datetime, zone: str) -> str:
    """Spell a time in the zone that was asked for; one without a zone (RFC 5545 3.3.5) is in it already."""
    if not isinstance(moment, datetime):
        return moment.isoformat()
    if moment.tzinfo is None:
        return moment.replace(tzinfo=ZoneInfo(zone or "UTC")).isoformat()
    return (moment.astimezone(ZoneInfo(zone)) if zone else moment).isoformat()
