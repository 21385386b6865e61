"""Files, tickets, memory and the clock in the demo workspace."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planwright.capabilities.builtin import clock, files, memory, tickets
from planwright.capabilities.call_context import CallContext
from planwright.domain.errors import CapabilityRejected
from planwright.records.stores import Stores

MakeWorld = Callable[..., CallContext]
NOTES = ["ideas.txt", "meeting-2026-11-10.md", "onboarding.md", "retro.md", "roadmap.md"]


def test_files_are_listed_by_pattern(demo: CallContext) -> None:
    every = files.list_files.function(demo, path="notes")
    assert every.files == [f"notes/{name}" for name in NOTES]
    assert every.count == 5
    some = files.list_files.function(demo, pattern="*.md")
    assert some.files == [f"notes/{name}" for name in NOTES if name.endswith(".md")]


@pytest.mark.parametrize("path", ["notes/roadmap.md", "roadmap.md"])
def test_a_file_is_read_by_path_or_by_its_bare_name(demo: CallContext, path: str) -> None:
    found = files.read.function(path, demo)
    assert found.path == "notes/roadmap.md"
    assert found.text.startswith("# Product roadmap")


def test_a_bare_name_that_two_files_have_is_rejected_with_both(demo: CallContext, tmp_path: Path) -> None:
    (tmp_path / "roadmap.txt").mkdir()
    (tmp_path / "roadmap.txt" / "retro.md").write_text("x")
    with pytest.raises(CapabilityRejected, match=r"2 files named retro\.md .*notes/retro\.md"):
        files.read.function("retro.md", demo)


def test_a_name_that_no_file_has_is_rejected(demo: CallContext) -> None:
    with pytest.raises(CapabilityRejected, match=r"there is no file named nothing\.md"):
        files.read.function("nothing.md", demo)


def test_a_written_file_is_read_back(demo: CallContext) -> None:
    written = files.write.function("out/summary.md", "Grüße\n", demo)
    assert (written.path, written.bytes) == ("out/summary.md", 8)
    assert files.read.function("out/summary.md", demo).text == "Grüße\n"


def test_lines_are_found_without_case_and_counted(demo: CallContext) -> None:
    found = files.search.function("FROST", demo)
    assert found.matches[0].path == "notes/roadmap.md"
    assert found.count == len(found.matches) == 2
    assert "frost" in found.matches[0].text.lower()
    few = files.search.function("e", demo, limit=3)
    assert (len(few.matches), few.count > 3) == (3, True)


def test_all_text_files_of_a_folder_are_read_at_once(demo: CallContext, tmp_path: Path) -> None:
    texts = files.read_all.function(call=demo, path="notes", pattern="*.md")
    assert [each.path for each in texts.files] == sorted(
        f"notes/{path.name}" for path in (tmp_path / "notes").glob("*.md")
    )
    assert all((tmp_path / each.path).read_text() == each.text for each in texts.files)
    assert texts.count == len(texts.files) > 1
    assert not any(each.path.startswith("mail/") for each in files.read_all.function(call=demo).files)


def test_a_file_that_cannot_be_read_is_named_beside_those_that_can(demo: CallContext, tmp_path: Path) -> None:
    (tmp_path / "notes" / "photo.md").write_bytes(b"\xff\xd8\xff\xe0")
    os.link(tmp_path / "notes" / "roadmap.md", tmp_path / "linked.md")
    texts = files.read_all.function(call=demo, path="notes")
    assert {"notes/photo.md is no text"} < set(texts.unreadable)
    assert "notes/roadmap.md" not in [each.path for each in texts.files]
    assert texts.count == len(texts.files) > 1


def test_more_than_can_be_read_at_once_is_refused_whole(demo: CallContext, tmp_path: Path) -> None:
    (tmp_path / "heap").mkdir()
    for number in range(files.MOST_FILES + 1):
        (tmp_path / "heap" / f"{number}.txt").write_text("x")
    with pytest.raises(CapabilityRejected, match="too much to read at once"):
        files.read_all.function(call=demo, path="heap")


def test_mail_and_databases_are_not_searched_as_files(demo: CallContext) -> None:
    found = files.search.function("invoice", demo)
    assert {match.path.split("/")[0] for match in found.matches} <= {"notes"}


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "~/x", ".planwright/planwright.db", ".git/config"])
@pytest.mark.parametrize(
    "found", [files.list_files, files.read, files.write, files.search], ids=lambda f: f.name
)
def test_every_file_capability_refuses_to_leave_before_anything_is_shown(
    demo: CallContext, found: Any, path: str
) -> None:
    with pytest.raises(CapabilityRejected, match="outside the workspace"):
        found.preflight({"path": path}, demo)


def ticket_rows(folder: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "tickets.db")) as db:
        return db.execute(
            "SELECT title, amount, effect_key FROM tickets WHERE effect_key IS NOT NULL"
        ).fetchall()


def test_a_ticket_is_created_once_under_one_key(demo: CallContext, tmp_path: Path) -> None:
    first = tickets.create.function("Pay Acme", demo, amount="EUR 4,310.50")
    again = tickets.create.function("Pay Acme", demo, amount="EUR 4,310.50")
    assert first == again
    assert (first.id, first.status, first.created_at) == (7, "open", "2026-11-21T12:00:00+00:00")
    assert ticket_rows(tmp_path) == [("Pay Acme", "EUR 4,310.50", "key-1")]


def test_another_key_makes_another_ticket(make_world: MakeWorld, demo: CallContext) -> None:
    one = tickets.create.function("Pay Acme", demo)
    two = tickets.create.function("Pay Acme", make_world(key="key-2"))
    assert two.id == one.id + 1


@pytest.mark.parametrize(
    ("args", "count"),
    [
        ({}, 4),
        ({"status": "open"}, 4),
        ({"status": "closed"}, 2),
        ({"status": "all"}, 6),
        ({"query": "hartmann"}, 1),
    ],
    ids=str,
)
def test_tickets_are_listed_by_status_and_words(demo: CallContext, args: dict[str, Any], count: int) -> None:
    found = tickets.list_tickets.function(demo, **args)
    assert found.count == len(found.tickets) == count
    ids = [ticket.id for ticket in found.tickets]
    assert ids == sorted(ids, reverse=True)


def test_a_workspace_without_tickets_gets_a_table(make_world: MakeWorld, tmp_path: Path) -> None:
    assert tickets.list_tickets.function(make_world()).count == 0
    assert tickets.create.function("First", make_world()).id == 1


def test_a_file_that_is_no_database_is_rejected(make_world: MakeWorld, tmp_path: Path) -> None:
    (tmp_path / "tickets.db").write_bytes(b"a letter to somebody" * 100)
    with pytest.raises(CapabilityRejected, match=r"tickets\.db"):
        tickets.list_tickets.function(make_world())


async def test_a_memory_is_kept_once_under_one_key_and_found_again(make_world: MakeWorld) -> None:
    call = make_world()
    one = await memory.write.function("The Berlin office closes at six", call, tags=["office"])
    again = await memory.write.function("The Berlin office closes at six", call, tags=["office"])
    assert one == again
    found = await memory.search.function("When does the office close?", call)
    assert (found.count, found.matches) == (1, [one])


async def test_a_memory_of_another_tenant_is_not_found(make_world: MakeWorld, stores: Stores) -> None:
    call = make_world()
    await memory.write.function("The Berlin office closes at six", call)
    other = call.for_call("other", "run_2", "key-9")
    assert (await memory.search.function("Berlin", other)).count == 0


@pytest.mark.parametrize(
    ("zone", "iso", "time"),
    [
        ("UTC", "2026-11-21T12:00:00+00:00", "12:00"),
        ("Europe/Berlin", "2026-11-21T13:00:00+01:00", "13:00"),
        ("Asia/Kolkata", "2026-11-21T17:30:00+05:30", "17:30"),
    ],
)
def test_the_time_is_told_in_a_zone(make_world: MakeWorld, zone: str, iso: str, time: str) -> None:
    moment = clock.now.function(make_world(), timezone=zone)
    assert (moment.iso, moment.time, moment.timezone) == (iso, time, zone)
    assert (moment.date, moment.weekday) == ("2026-11-21", "Saturday")


@pytest.mark.parametrize(
    "zone", ["Berlin", "", "Europe/Nowhere", "../../etc/passwd", "/etc/localtime", "x" * 300]
)
def test_a_zone_that_does_not_exist_is_rejected(make_world: MakeWorld, zone: str) -> None:
    with pytest.raises(CapabilityRejected, match="there is no time zone"):
        clock.now.function(make_world(), timezone=zone)
