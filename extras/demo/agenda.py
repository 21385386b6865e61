"""The demo calendar: one iCalendar file (RFC 5545) with meetings that recur, so that every week has some."""

from __future__ import annotations

from pathlib import Path

_EVENTS = (
    """\
UID:stand-up@northwind.example
SUMMARY:Stand-up
DTSTART;TZID=Europe/Berlin:20260105T093000
DTEND;TZID=Europe/Berlin:20260105T094500
RRULE:FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR
LOCATION:Hall 1
""",
    """\
UID:roadmap@northwind.example
SUMMARY:Roadmap meeting
DTSTART;TZID=Europe/Berlin:20260106T140000
DTEND;TZID=Europe/Berlin:20260106T150000
RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=TU
DESCRIPTION:See notes/roadmap.md
""",
    """\
UID:payment-run@northwind.example
SUMMARY:Payment run
DTSTART;VALUE=DATE:20260130
RRULE:FREQ=MONTHLY;BYDAY=-1FR
""",
    """\
UID:lefevre@northwind.example
SUMMARY:Call with Lefèvre about the two greenhouses
DTSTART;TZID=Europe/Paris:20261124T110000
DTEND;TZID=Europe/Paris:20261124T113000
""",
)


def write_calendar(folder: Path) -> None:
    """Write the calendar, unless it is there."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "work.ics"
    if path.exists():
        return
    events = "".join(f"BEGIN:VEVENT\nDTSTAMP:20260101T000000Z\n{event}END:VEVENT\n" for event in _EVENTS)
    text = f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//Planwright//demo//EN\n{events}END:VCALENDAR\n"
    path.write_text(text, encoding="utf-8", newline="\r\n")
