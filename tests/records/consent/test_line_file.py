"""Files of lines: processes that change one at the same time lose nothing, and nothing revoked comes back."""

from __future__ import annotations

import multiprocessing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from planwright.domain.errors import SetupError, StoreFailed
from planwright.records.consent.delegations import Delegations, Period, Reach

NOW = datetime(2031, 5, 1, 12, tzinfo=UTC)


def issue(folder: Path, name: str) -> str:
    return Delegations(folder).issue(Reach([name]), "High", "ada", Period(NOW, NOW + timedelta(hours=1))).id


def change(folder: Path, ids: list[str], number: int) -> None:
    for id_ in ids:
        Delegations(folder).revoke(id_)
        issue(folder, f"new.{number}")


@pytest.mark.long
def test_what_several_processes_revoke_and_issue_at_once_is_revoked_and_issued(tmp_path: Path) -> None:
    first = [issue(tmp_path, "old") for _ in range(40)]
    spawned = multiprocessing.get_context("spawn")
    people = [
        spawned.Process(target=change, args=(tmp_path, first[number::4], number)) for number in range(4)
    ]
    for one in people:
        one.start()
    for one in people:
        one.join(60)
    assert [one.exitcode for one in people] == [0] * 4
    assert sorted(one.capabilities[0] for one in Delegations(tmp_path).read()) == sorted(
        f"new.{number}" for number in range(4) for _ in range(10)
    )


def test_a_line_that_was_cut_short_of_its_end_is_not_joined_with_the_next(tmp_path: Path) -> None:
    issue(tmp_path, "one")
    path = tmp_path / "delegations.jsonl"
    path.write_text(path.read_text("utf-8").rstrip("\n"), "utf-8")
    issue(tmp_path, "two")
    assert [one.capabilities for one in Delegations(tmp_path).read()] == [("one",), ("two",)]


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\x85", "\r"])
def test_a_text_with_line_ends_of_other_kinds_is_one_line(tmp_path: Path, end: str) -> None:
    first = issue(tmp_path, "one")
    period = Period(NOW, NOW + timedelta(hours=1))
    Delegations(tmp_path).issue(Reach(["two"]), "High", "ada", period, reason=f"a line{end}of a page")
    assert [one.reason for one in Delegations(tmp_path).read()] == ["", f"a line{end}of a page"]
    assert Delegations(tmp_path).covering("one", "High", "default", NOW) is not None
    Delegations(tmp_path).revoke(first)
    assert [one.capabilities for one in Delegations(tmp_path).read()] == [("two",)]


def test_a_file_that_a_person_has_saved_with_other_line_ends_is_read(tmp_path: Path) -> None:
    for name in ("one", "two"):
        issue(tmp_path, name)
    path = tmp_path / "delegations.jsonl"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert [one.capabilities for one in Delegations(tmp_path).read()] == [("one",), ("two",)]


def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path: Path) -> None:
    id_ = issue(tmp_path, "one")
    (tmp_path / "delegations.new").mkdir()
    with pytest.raises(StoreFailed, match="is as it was"):
        Delegations(tmp_path).revoke(id_)
    with pytest.raises(StoreFailed, match="is as it was"):
        issue(tmp_path, "two")
    assert [one.id for one in Delegations(tmp_path).read()] == [id_]


def test_what_is_no_text_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "delegations.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(SetupError, match="cannot be read"):
        issue(tmp_path, "one")
