"""Stores that cannot be used: locked, read-only or damaged. Each is named, and nothing is lost."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.conftest import Waiting, ask
from tests.cli.desk import Desk, refusal

pytestmark = [pytest.mark.sqlite, pytest.mark.long]

# A process without the rights of root to write everywhere: as another user, or with the capability dropped.
ORDINARY: tuple[Sequence[str], ...] = (
    ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"),
    ("setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"),
)


def test_a_locked_store_is_named_and_the_gate_stays_open(desk: Desk, waiting: Waiting) -> None:
    desk.settings("[storage]\nbusy_timeout_s = 0.2\n")
    path = desk.folder / ".planwright" / "planwright.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        done = desk.run("approve", waiting.gate_id)
        other.execute("ROLLBACK")
    said = refusal(done)
    assert done.code == 2
    assert str(path) in said
    assert "locked" in said
    assert "try again" in said
    assert desk.rows("SELECT status FROM gates") == [("open",)]
    assert not (desk.folder / "note.md").exists()


@pytest.fixture
def public_desk(template: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """A workspace that everybody may read and nobody may write to, and a machine for whoever does."""
    place = Path(tempfile.mkdtemp(prefix="planwright-read-only-", dir="/tmp"))
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "machine"))
    folder = place / "desk"
    shutil.copytree(template, folder)
    ask(folder, "Save hello to note.md")
    shutil.rmtree(place / "machine")
    (place / "machine").mkdir()
    (place / "machine").chmod(0o777)
    place.chmod(0o755)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield Desk(folder)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)
    shutil.rmtree(place)


def ordinary_rights(folder: Path) -> Sequence[str]:
    """Find a way to start a process that can import the program and cannot write to a folder."""
    attempt = "import sys, planwright.domain.errors; open(sys.argv[1], 'w')"
    probe = [sys.executable, "-P", "-c", attempt, str(folder / "probe")]
    ways = [way for way in ORDINARY if shutil.which(way[0])] if os.geteuid() == 0 else [()]
    for way in ways:
        tried = subprocess.run([*way, *probe], capture_output=True, text=True, check=False)
        if "PermissionError" in tried.stderr:
            return way
    pytest.skip("every process here may write everywhere")


@pytest.mark.long
@pytest.mark.parametrize("wanted", ["run", "doctor"])
def test_a_read_only_workspace_is_refused_with_the_setting_that_helps(public_desk: Desk, wanted: str) -> None:
    way = ordinary_rights(public_desk.folder)
    trusted = public_desk.start_cold("trust", "--yes", way=way)
    assert trusted.code == 0, trusted.printed
    args = ("run", "What tickets are open?") if wanted == "run" else ("doctor",)
    done = public_desk.start_cold(*args, way=way)
    assert done.code == (2 if wanted == "run" else 1)
    assert "Traceback" not in done.printed
    said = done.stderr if wanted == "run" else done.stdout
    assert "cannot write to" in said
    assert "storage.path" in said
    assert len(done.stderr.splitlines()) <= 6
    assert public_desk.rows("SELECT count(*) FROM runs") == [(1,)]


def test_the_doctor_finds_a_store_that_can_be_read_and_not_written(desk: Desk, waiting: Waiting) -> None:
    path = desk.folder / ".planwright" / "planwright.db"
    with path.open("r+b") as file:
        file.seek(18)
        file.write(b"\x03")  # a version of the file format for writing that SQLite does not know
    done = desk.run("doctor")
    assert done.code == 1
    assert "cannot write to" in done.stdout
    assert "storage.path" in done.stdout


@pytest.mark.parametrize("wanted", [["ls"], ["show", "anything"]], ids=["ls", "show"])
def test_a_damaged_store_is_named(desk: Desk, wanted: list[str]) -> None:
    path = desk.folder / ".planwright" / "planwright.db"
    path.parent.mkdir()
    path.write_text("this was a database once, before somebody opened it in an editor", encoding="utf-8")
    done = desk.run(*wanted)
    said = refusal(done)
    assert done.code == 2
    assert str(path) in said
    assert path.read_text("utf-8").startswith("this was a database")


def test_a_store_that_was_never_begun_holds_no_runs(desk: Desk) -> None:
    path = desk.folder / ".planwright" / "planwright.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")  # so far a start comes on a full disk
    done = desk.run("ls")
    assert "there are no runs" in refusal(done)
    assert "planwright run" in done.stderr


def test_a_store_whose_file_is_gone_is_no_new_workspace(desk: Desk, waiting: Waiting) -> None:
    path = desk.folder / ".planwright" / "planwright.db"
    path.unlink()
    assert "is gone, and there is more of the store beside it" in refusal(desk.run("ls"))
    path.mkdir()
    assert "planwright.db is no file" in refusal(desk.run("ls"))


def test_the_doctor_tells_what_time_it_is_and_which_clock_is_not_believed(
    desk: Desk, waiting: Waiting
) -> None:
    found = re.search(r"time +ok +(\S+ \S+) UTC", desk.run("doctor").stdout)
    assert found is not None
    assert abs(datetime.fromisoformat(f"{found[1]}+00:00") - datetime.now(UTC)) < timedelta(minutes=5)
    desk.change("UPDATE store_time SET ahead_s = ahead_s + 7 * 86400")
    done = desk.run("doctor")
    assert done.code == 1
    assert "the clock is 7 days, 0:00:00 behind the time of the store" in done.stdout
    desk.change("UPDATE store_time SET boot = 'another', ahead_s = ahead_s - 14.5 * 86400")
    assert "this machine, or whoever used the store, was off for 7 days" in desk.run("doctor").stdout


@pytest.mark.parametrize("name", ["allow.jsonl", "delegations.jsonl"])
def test_the_doctor_says_which_line_of_what_is_allowed_cannot_be_read(desk: Desk, name: str) -> None:
    folder = desk.folder / ".planwright"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("\n{}\n", "utf-8")
    done = desk.run("doctor")
    assert done.code == 1
    assert f"{name} line 2 is no " in done.stdout.replace("\n", " ")
