"""What models are known of the world they work in: the day, the user, and which sources there are."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from planwright.capabilities.call_context import CallContext
from planwright.domain.clock import Timer
from planwright.execution.surroundings import surroundings
from planwright.extras.demo.workspace import write_workspace
from planwright.records.stores import Stores, open_stores
from planwright.security.jail import Jail
from planwright.settings.settings import load

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
ALL = ("mail.search", "mail.send", "calendar.list", "tickets.list", "files.list", "channel.post")


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    opened = open_stores(tmp_path / "store", timer=Timer())
    yield opened
    opened.close()


def facts(folder: Path, stores: Stores, allowed: tuple[str, ...] = ALL, **settings: Any) -> dict[str, Any]:
    """Tell of a workspace."""
    loaded = load(folder, **settings)
    world = CallContext(loaded, Jail(loaded.workspace), stores.memories, lambda: NOW)
    return surroundings(allowed, world.for_call("default", "run_1", "key-1"))


def test_the_day_is_told_and_no_minute(tmp_path: Path, stores: Stores) -> None:
    known = facts(tmp_path, stores)
    assert (known["today"], known["weekday"]) == ("2026-11-21", "Saturday")
    assert "UTC" in known["time_zone"]
    assert "12" not in str(known.get("time", ""))
    assert known["workspace"] == tmp_path.name


def test_sources_that_are_not_there_are_told_from_empty_ones(tmp_path: Path, stores: Stores) -> None:
    (tmp_path / "calendar").mkdir()
    sources = facts(tmp_path, stores)["sources"]
    assert sources["mail"] == "not there"
    assert sources["calendar"] == "empty"
    assert sources["tickets"] == "empty"
    assert "there is no mail server" in sources["mail.send"]


def test_the_demo_has_mail_a_calendar_and_files(tmp_path: Path, stores: Stores) -> None:
    write_workspace(tmp_path)
    sources = facts(tmp_path, stores)["sources"]
    assert (sources["mail"], sources["calendar"], sources["files"]) == ("there", "there", "there")


def test_what_may_not_be_used_is_not_told_of(tmp_path: Path, stores: Stores) -> None:
    assert list(facts(tmp_path, stores, ("files.list",))["sources"]) == ["files"]


def test_the_user_is_who_sends_mail(tmp_path: Path, stores: Stores) -> None:
    assert "user" not in facts(tmp_path, stores)
    mail = {"host": "127.0.0.1", "sender": "mara@acme.example"}
    assert facts(tmp_path, stores, mail=mail)["user"] == "mara@acme.example"
