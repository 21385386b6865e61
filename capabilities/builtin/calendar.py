"""The user's calendar: iCalendar files (RFC 5545) below a folder."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, Field

from planwright.capabilities.builtin.period import stretch
from planwright.capabilities.builtin.places import source
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Guide
from planwright.capabilities.declaration import capability
from planwright.domain.errors import CapabilityRejected
from planwright.sandbox.sandbox import sandbox
from planwright.security.jail import Jail

LONGEST = timedelta(days=366)


class Meeting(BaseModel):
    """One event, as it falls into the window; times carry their offset, whole days are dates."""

    start: str
    """When it begins: ISO 8601 with offset, or a date for a whole day."""
    end: str
    """When it ends, spelled as `start`."""
    title: str
    """Title of the event."""
    location: str = ""
    """Where it takes place; "" where the file does not say."""
    description: str = ""
    """What the event is about; "" where the file does not say."""
    all_day: bool = False
    """Whether it takes whole days."""
    calendar: str = ""
    """Path of the file that it is in, below the folder of calendars."""


class Unreadable(BaseModel):
    """A file, or a part of one, that is not among the events."""

    path: str
    """Path of the file, below the folder of calendars."""
    reason: str
    """Why it could not be read, in words."""


class Agenda(BaseModel):
    """Events in the order they begin, and what could not be read."""

    events: list[Meeting]
    """Events of the window."""
    count: int
    """Number of those events."""
    start: str
    """First moment of the window, in ISO 8601 with offset."""
    end: str
    """First moment after the window, in ISO 8601 with offset."""
    unreadable: list[Unreadable] = []
    """Files and parts of files that are missing among the events."""


When = Annotated[
    str, Field(description="a date or time (ISO 8601), today, tomorrow, a weekday, this week or next week")
]


@capability(
    "calendar.list",
    mode="read_only",
    tags=("calendar", "meeting", "appointment", "event", "agenda", "schedule"),
    guide=Guide(
        "Lists what is in the calendar. `start` alone means that day, week or month; with `end`, from the "
        "start of the one to the end of the other. Words like tomorrow are understood; no date is needed.",
        ("What meetings do I have tomorrow?", "Is anything in my calendar next week?"),
        35,
    ),
    timeout_s=30,
    reads=source(lambda sources: sources.calendar),
)
def list_events(
    call: CallContext,
    start: When = "today",
    end: Annotated[str | None, Field(description="as start; included")] = None,
    query: Annotated[str, Field(description="words an event must hold")] = "",
    timezone: Annotated[
        str,
        Field(description="zone, e.g. Europe/Berlin; else as written"),
    ] = "",
) -> Agenda:
    """List the meetings and events of a stretch of days in the user's calendar."""
    zone = _zone(timezone or "UTC")
    begin, until = _window(start, end, call.now(), zone)
    folder = call.settings.workspace / call.settings.sources.calendar
    if not folder.is_dir():
        raise CapabilityRejected(
            f"there is no calendar at {folder}", "set sources.calendar to a folder of .ics files"
        )
    events: list[Meeting] = []
    unreadable: list[Unreadable] = []
    jail = Jail(folder)
    for path in jail.files():
        if path.lower().endswith(".ics"):
            meetings, wrong = _read(jail, path, begin, until, timezone)
            events += meetings
            unreadable += [Unreadable(path=path, reason=reason) for reason in wrong]
    wanted = query.lower().split()
    events = [event for event in events if all(word in _text(event) for word in wanted)]
    events.sort(key=lambda event: (_instant(event.start, zone), event.end, event.title))
    window = {"start": begin.isoformat(), "end": until.isoformat()}
    return Agenda(events=events, count=len(events), unreadable=unreadable, **window)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise CapabilityRejected(
            f"there is no time zone {name!r}", "use a name like Europe/Berlin"
        ) from error


def _window(start: str, end: str | None, now: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    try:
        begin, until = stretch(start, now, zone)
        if end is not None:
            until = stretch(end, now, zone)[1]
    except (ValueError, OverflowError) as error:
        raise CapabilityRejected(
            f"that is no time: {error}", "e.g. 2026-11-23, tomorrow, next week"
        ) from error
    if end is None and until == begin:
        until = begin + timedelta(days=1)
    if not timedelta(0) < until - begin <= LONGEST:
        raise CapabilityRejected(
            f"from {begin:%Y-%m-%d %H:%M} to {until:%Y-%m-%d %H:%M} is no window of up to {LONGEST.days} days"
        )
    return begin, until


def _read(
    jail: Jail, path: str, begin: datetime, until: datetime, zone: str
) -> tuple[list[Meeting], list[str]]:
    """Read the events of one file, and say what of it could not be read; nothing of it is fatal."""
    try:
        rows, wrong = sandbox().run(
            "planwright.capabilities.builtin.icalendar_events:events", jail.read(path), begin, until, zone
        )
    except CapabilityRejected as error:
        return [], [error.cause]
    return [Meeting(**row, calendar=path) for row in rows], wrong


def _instant(text: str, zone: ZoneInfo) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def _text(event: Meeting) -> str:
    return f"{event.title} {event.location} {event.description}".lower()
