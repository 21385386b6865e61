"""Look a whole store over, without changing it: what is wrong in it, and what to do about each thing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from planwright.records.audit.verification import verify_chain
from planwright.store.blobs import Blobs
from planwright.store.log_check import SET_ASIDE, frames_lost, frames_unread
from planwright.store.migrations import MIGRATIONS
from planwright.store.store_errors import BROKEN, store_version
from planwright.store.store_files import BLOBS, RECORDS, VERSION, has_file, no_store, read_only
from planwright.upkeep.findings import RESTORE, StoreFinding, several
from planwright.upkeep.store_rows import unreadable_checkpoints, unreadable_rows
from planwright.upkeep.store_truth import disagreements

_SHADOWS = ("memories_fts_data", "memories_fts_idx", "memories_fts_docsize", "memories_fts_config")


def check_store(folder: Path) -> list[StoreFinding]:
    """List what is wrong in the store of a folder; nothing for a healthy one. Nothing is written.

    The file is read as it was at one moment: what a run that is worked on records meanwhile is no finding.
    What is in a file that is damaged proves nothing, and is not looked at.
    Raises SetupError when there is no store.
    """
    if not has_file(folder):
        raise no_store(folder)
    path = folder / RECORDS
    lost = list(_of_log(path))
    try:
        with closing(read_only(path)) as records:
            records.execute("BEGIN")
            findings = _guarded(RECORDS, _of_file(records))
            if all(finding.note for finding in findings):
                findings += _of_rows(records, Blobs(folder / BLOBS))
    except BROKEN as error:
        findings = [StoreFinding(RECORDS, f"the file cannot be opened: {error}", RESTORE)]
    return [*lost, *findings]


def _of_log(path: Path) -> Iterator[StoreFinding]:
    """Look at the log of a file before it is opened."""
    if frames := frames_lost(path):
        fault = f"its log ends {frames} pages before its index says: the newest commits are lost"
        yield StoreFinding(path.name, fault, RESTORE)
    elif frames := frames_unread(path):
        fault = f"its log is damaged: {frames} pages of commits stand where SQLite reads no further"
        yield StoreFinding(path.name, fault, RESTORE)
    for copy in sorted(path.parent.glob(f"{path.name}{SET_ASIDE}*")):
        note = f"a log that was damaged: what could be read of it is in {path.name}"
        yield StoreFinding(copy.name, note, "", note=True)


def _of_chain(records: sqlite3.Connection) -> Iterator[StoreFinding]:
    """Compare what has ended with the audit chain, which reads rows by the names of their columns."""
    records.row_factory = sqlite3.Row
    for finding in verify_chain(records)[0]:
        where = f" of run {finding.run_id}" if finding.run_id else ""
        yield StoreFinding(RECORDS, f"{finding.problem}{where}", "planwright audit verify")


def _of_rows(records: sqlite3.Connection, blobs: Blobs) -> list[StoreFinding]:
    """Look into a file that is whole."""
    findings = _guarded(RECORDS, unreadable_rows(records))
    findings += _guarded(RECORDS, unreadable_checkpoints(records))
    if all(finding.note for finding in findings):
        findings += _guarded(RECORDS, disagreements(records, blobs))
        findings += _guarded(RECORDS, _of_chain(records))
    return findings


def _of_file(connection: sqlite3.Connection) -> Iterator[StoreFinding]:
    version = store_version(connection)
    if version > VERSION:
        fault = (
            f"a newer planwright wrote it: its tables have version {version}, this program knows {VERSION}"
        )
        yield StoreFinding(RECORDS, fault, f"install that version, or: {RESTORE}")
        return
    if broken := [row[0] for row in connection.execute("PRAGMA integrity_check(3)") if row[0] != "ok"]:
        yield StoreFinding(RECORDS, f"the file is damaged: {'; '.join(broken)}", RESTORE)
        return
    if loose := [row[0] for row in connection.execute("PRAGMA foreign_key_check")]:
        yield StoreFinding(
            RECORDS, f"rows refer to rows that are not there, in {', '.join(loose[:3])}", RESTORE
        )
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if version == 0:
        fault = "it is a database of another program" if tables else "it holds nothing"
        yield StoreFinding(RECORDS, fault, RESTORE)
    elif lacking := sorted(_columns_now() - _columns(connection)):
        yield StoreFinding(RECORDS, f"tables or columns are not there: {several(lacking)}", RESTORE)
    else:
        yield from _of_triggers(connection)
        yield from _of_search(connection)


@contextmanager
def _made_new() -> Iterator[sqlite3.Connection]:
    """Open an empty store of the present version."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for script in MIGRATIONS:
            connection.executescript(script)
        yield connection


def _columns_now() -> set[str]:
    """List the columns of an empty store of the present version."""
    with _made_new() as connection:
        return _columns(connection)


def _columns(connection: sqlite3.Connection) -> set[str]:
    query = (
        "SELECT t.name || '.' || c.name FROM sqlite_master t, pragma_table_info(t.name) c"
        " WHERE t.type = 'table' AND t.name NOT LIKE 'memories_fts%'"
    )
    return {row[0] for row in connection.execute(query)}


def _of_triggers(connection: sqlite3.Connection) -> Iterator[StoreFinding]:
    """Compare what the file does by itself with each row: what is not of ours may refuse or change it."""
    query = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
    with _made_new() as new:
        ours, there = ({row[0]: row[1] for row in each.execute(query)} for each in (new, connection))
    if other := sorted(name for name in there if there[name] != ours.get(name)):
        next_step = "remove them with the program that made them: DROP TRIGGER"
        yield StoreFinding(RECORDS, f"triggers of others act on its rows: {several(other)}", next_step)
    if gone := sorted(ours.keys() - there.keys()):
        yield StoreFinding(RECORDS, f"triggers that keep rows as they are are gone: {several(gone)}", RESTORE)


def _of_search(connection: sqlite3.Connection) -> Iterator[StoreFinding]:
    """Check the index of what is remembered, in a copy: SQLite checks it by a statement that writes."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
        for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE name = 'memories'"):
            copy.execute(sql)
        copy.execute("CREATE VIRTUAL TABLE memories_fts USING fts5 (text, tags, content='memories')")
        for table in ("memories", *_SHADOWS):
            copy.execute(f"DELETE FROM {table}")
            rowid = "rowid, " if table == "memories" else ""
            rows = connection.execute(f"SELECT {rowid}* FROM {table}").fetchall()
            names = [column[1] for column in copy.execute(f"PRAGMA table_info({table})")]
            columns = ", ".join(["rowid", *names] if rowid else names)
            marks = ", ".join("?" * (len(names) + bool(rowid)))
            copy.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)
        try:  # sqlite.org/fts5.html#the_integrity_check_command
            copy.execute("INSERT INTO memories_fts (memories_fts, rank) VALUES ('integrity-check', 1)")
        except sqlite3.DatabaseError:
            yield StoreFinding(RECORDS, "the index that memories are searched by does not fit them", RESTORE)


def _guarded(name: str, source: Iterator[StoreFinding]) -> list[StoreFinding]:
    """Collect findings; one more where SQLite cannot read on."""
    findings: list[StoreFinding] = []
    try:
        findings.extend(source)
    except BROKEN as error:
        findings.append(StoreFinding(name, f"the file cannot be read: {error}", RESTORE))
    return findings
