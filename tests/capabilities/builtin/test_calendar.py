"""calendar.list: what falls into a stretch of days, in whose time, and what could not be read."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from planwright.capabilities.builtin import calendar
from planwright.capabilities.builtin.period import stretch
from planwright.capabilities.call_context import CallContext
from planwright.domain.errors import CapabilityRejected

MakeWorld = Callable[..., CallContext]
NOW = datetime(2026, 11, 21, 23, 30, tzinfo=UTC)  # a Saturday; in Berlin it is Sunday already


def write(folder: Path, name: str, *events: str, head: str = "") -> None:
    path = folder / "calendar" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    body = "".join(
        f"BEGIN:VEVENT\nUID:{name}-{n}\nDTSTAMP:20260101T000000Z\n{event}\nEND:VEVENT\n"
        for n, event in enumerate(events)
    )
    text = f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\n{head}{body}END:VCALENDAR\n"
    path.write_text(text, encoding="utf-8", newline="\r\n")


def event(title: str, start: str, end: str = "", *more: str) -> str:
    rows = [f"SUMMARY:{title}", f"DTSTART{start}", *([f"DTEND{end}"] if end else []), *more]
    return "\n".join(rows)


def agenda(world: CallContext, **args: Any) -> calendar.Agenda:
    found = calendar.list_events.function(world, **args)
    assert isinstance(found, calendar.Agenda)
    return found


def titles(world: CallContext, **args: Any) -> list[str]:
    return [one.title for one in agenda(world, **args).events]


@pytest.mark.parametrize(
    ("words", "zone", "begin", "days"),
    [
        ("today", "UTC", "2026-11-21", 1),
        ("Tomorrow", "UTC", "2026-11-22", 1),
        ("today", "Europe/Berlin", "2026-11-22", 1),
        ("yesterday", "UTC", "2026-11-20", 1),
        ("saturday", "UTC", "2026-11-21", 1),
        ("next saturday", "UTC", "2026-11-28", 1),
        ("friday", "UTC", "2026-11-27", 1),
        ("this week", "UTC", "2026-11-16", 7),
        ("next week", "UTC", "2026-11-23", 7),
        ("last month", "UTC", "2026-10-01", 31),
        ("next month", "UTC", "2026-12-01", 31),
        ("2026-02-28", "UTC", "2026-02-28", 1),
        ("2026-11-21T09:30:00", "UTC", "2026-11-21T09:30", 0),
    ],
)
def test_words_mean_a_stretch_of_days(words: str, zone: str, begin: str, days: int) -> None:
    here = ZoneInfo(zone)
    first, last = stretch(words, NOW, here)
    assert first == datetime.fromisoformat(begin).replace(tzinfo=here)
    assert (last.date() - first.date()).days == days


@pytest.mark.parametrize("words", ["", "someday", "2026-13-01", "next year", "32", "tomorrow evening"])
def test_words_that_mean_no_time_are_refused(make_world: MakeWorld, words: str) -> None:
    with pytest.raises(CapabilityRejected, match="that is no time"):
        agenda(make_world(), start=words)


@pytest.mark.parametrize(
    ("start", "end"), [("2026-11-22", "2026-11-20"), ("2026-01-01", "2028-01-01"), ("today", "yesterday")]
)
def test_a_window_that_is_none_is_refused(make_world: MakeWorld, start: str, end: str) -> None:
    with pytest.raises(CapabilityRejected, match="no window of up to 366 days"):
        agenda(make_world(), start=start, end=end)


def test_events_of_the_window_come_in_their_order(make_world: MakeWorld, tmp_path: Path) -> None:
    write(
        tmp_path, "a.ics",
        event("late", ":20261122T160000Z", ":20261122T170000Z"),
        event("early", ":20261122T080000Z", ":20261122T090000Z"),
        event("other day", ":20261123T080000Z", ":20261123T090000Z"),
        event("over midnight", ":20261121T230000Z", ":20261122T010000Z"),
    )  # fmt: skip
    write(tmp_path, "sub/b.ics", event("whole day", ";VALUE=DATE:20261122"))
    assert titles(make_world(), start="2026-11-22") == ["over midnight", "whole day", "early", "late"]
    assert titles(make_world(), start="2026-11-22", end="2026-11-23")[-1] == "other day"
    assert titles(make_world(), start="2026-11-22", query="EARLY") == ["early"]


@pytest.mark.parametrize(
    ("zone", "start", "end"),
    [("Europe/Berlin", "10:00", "11:00"), ("America/New_York", "04:00", "05:00"), ("UTC", "09:00", "10:00")],
)
def test_times_are_told_in_the_zone_that_is_asked_for(
    make_world: MakeWorld, tmp_path: Path, zone: str, start: str, end: str
) -> None:
    write(
        tmp_path,
        "a.ics",
        event("x", ";TZID=Europe/Berlin:20261124T100000", ";TZID=Europe/Berlin:20261124T110000"),
    )
    (one,) = agenda(make_world(), start="2026-11-24", timezone=zone).events
    assert (one.start[11:16], one.end[11:16]) == (start, end)


def test_a_time_without_a_zone_is_that_of_the_one_who_asks(make_world: MakeWorld, tmp_path: Path) -> None:
    write(tmp_path, "a.ics", event("floating", ":20261124T100000", ":20261124T110000"))
    for zone, offset in (("Europe/Berlin", "+01:00"), ("Asia/Tokyo", "+09:00")):
        (one,) = agenda(make_world(), start="2026-11-24", timezone=zone).events
        assert one.start == f"2026-11-24T10:00:00{offset}"


def test_a_series_keeps_its_hour_over_the_change_of_the_clocks(make_world: MakeWorld, tmp_path: Path) -> None:
    start = ";TZID=Europe/Berlin:20261019T090000"
    write(tmp_path, "a.ics", event("weekly", start, "", "DURATION:PT1H", "RRULE:FREQ=WEEKLY"))
    found = agenda(make_world(), start="2026-10-19", end="2026-11-02", timezone="UTC").events
    assert [one.start[5:16] for one in found] == ["10-19T07:00", "10-26T08:00", "11-02T08:00"]


def test_a_series_leaves_out_and_moves_what_was_changed_in_it(make_world: MakeWorld, tmp_path: Path) -> None:
    write(
        tmp_path, "a.ics",
        event("daily", ":20261123T090000Z", ":20261123T093000Z", "RRULE:FREQ=DAILY;COUNT=4",
              "EXDATE:20261124T090000Z"),
    )  # fmt: skip
    text = (tmp_path / "calendar" / "a.ics").read_text()
    moved = event("moved", ":20261125T150000Z", ":20261125T153000Z", "RECURRENCE-ID:20261125T090000Z")
    one = (
        f"BEGIN:VEVENT\nUID:a.ics-0\nDTSTAMP:20260101T000000Z\nSEQUENCE:1\n{moved}\nEND:VEVENT\nEND:VCALENDAR"
    )
    (tmp_path / "calendar" / "a.ics").write_text(text.replace("END:VCALENDAR", one))
    found = agenda(make_world(), start="2026-11-23", end="2026-11-30").events
    assert [(one.title, one.start[8:16]) for one in found] == [
        ("daily", "23T09:00"), ("moved", "25T15:00"), ("daily", "26T09:00"),
    ]  # fmt: skip


def test_what_was_cancelled_is_not_among_the_events(make_world: MakeWorld, tmp_path: Path) -> None:
    write(tmp_path, "a.ics", event("off", ":20261123T090000Z", ":20261123T093000Z", "STATUS:CANCELLED"))
    assert titles(make_world(), start="2026-11-23") == []


BAD = {
    "empty.ics": b"",
    "words.ics": b"this is no calendar",
    "cut.ics": b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:x",
    "nested.ics": b"BEGIN:VCALENDAR\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
    "binary.ics": bytes(range(256)) * 10,
    "time.ics": b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:x\r\nDTSTART:yesterday\r\n"
    b"END:VEVENT\r\nEND:VCALENDAR\r\n",
    "often.ics": b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nSUMMARY:tick\r\nDTSTART:20200101T000000Z\r\n"
    b"RRULE:FREQ=SECONDLY\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
    "large.ics": b"BEGIN:VCALENDAR\r\n" + b"X" * 5_100_000,
}


def test_a_bad_file_is_named_and_the_good_ones_are_read(make_world: MakeWorld, tmp_path: Path) -> None:
    write(tmp_path, "good.ics", event("good", ":20261123T090000Z", ":20261123T093000Z"))
    for name, content in BAD.items():
        (tmp_path / "calendar" / name).write_bytes(content)
    os.mkfifo(tmp_path / "calendar" / "pipe.ics")
    (tmp_path / "calendar" / "link.ics").symlink_to("/etc/passwd")
    found = agenda(make_world(), start="2026-11-23")
    assert [one.title for one in found.events] == ["good"]
    assert {one.path for one in found.unreadable} == set(BAD)
    assert all(one.reason for one in found.unreadable)


def test_a_folder_that_is_not_there_is_told(make_world: MakeWorld) -> None:
    with pytest.raises(CapabilityRejected, match=r"there is no calendar at .*calendar"):
        agenda(make_world())


def test_a_zone_that_is_not_there_is_told(make_world: MakeWorld) -> None:
    with pytest.raises(CapabilityRejected, match="there is no time zone 'Mars/Base'"):
        agenda(make_world(), timezone="Mars/Base")


def test_the_demo_calendar_has_a_meeting_on_every_working_day(demo: CallContext) -> None:
    assert titles(demo, start="2026-11-23", timezone="Europe/Berlin") == ["Stand-up"]
    assert "Call with Lefèvre about the two greenhouses" in titles(demo, start="2026-11-24")
