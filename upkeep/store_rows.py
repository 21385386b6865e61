"""Rows that cannot be what was written: no UTF-8, no JSON, no time, an unknown word, foreign bytes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, get_args

from planwright.checkpoints.thread_state.layout import KIND, LOG, NAMED, log_items, refs_in
from planwright.domain.errors import SetupError
from planwright.domain.results import RunStatus, StepStatus
from planwright.domain.risk import Effect
from planwright.records.consent.gate import GateKind, GateStatus
from planwright.records.effects.ledger import EffectStatus
from planwright.records.plans import PlanKind
from planwright.store.store_files import RECORDS
from planwright.upkeep.findings import RESTORE, StoreFinding, several

if TYPE_CHECKING:
    from langgraph.checkpoint.serde.base import SerializerProtocol

ANY = (dict, list, str, int, float, type(None))
JSON: dict[str, dict[str, tuple[type, ...]]] = {
    "runs": {"messages": (list,), "context": (dict,)},
    "plans": {"plan": (dict,), "checked": (list,), "card": (dict,)},
    "gates": {"shown": (dict,), "edited": (dict,), "remembered": (dict,), "approvals": (list,)},
    "effects": {"args": (dict,), "result": ANY},
    "steps": {"result": (dict,)},
    "journal": {"data": (dict,)},
    "memories": {"tags": (list,)},
    "proposals": {"tags": (list,)},
    "forks": {"plan": (dict,), "again": (list,)},
    "chains": {"definition": (dict,)},
}
TIMES = {
    "runs": ("started_at", "ended_at"),
    "plans": ("created_at",),
    "gates": ("requested_at", "expires_at", "decided_at"),
    "effects": ("intended_at", "ended_at"),
    "steps": ("ended_at",),
    "journal": ("ts",),
    "memories": ("created_at",),
}
WORDS: dict[str, dict[str, tuple[str, ...]]] = {
    "runs": {"status": get_args(RunStatus)},
    "plans": {"kind": get_args(PlanKind)},
    "gates": {"kind": get_args(GateKind), "status": get_args(GateStatus)},
    "effects": {"status": get_args(EffectStatus), "effect": get_args(Effect)},
    "steps": {"status": get_args(StepStatus)},
}
OF_CHECKPOINTS = {"checkpoints": "checkpoint", "writes": "value", "contents": "value"}
"""The tables of checkpoints, with the column of their values."""
_KINDS: dict[str, tuple[type, ...]] = {"TEXT": (bytes,), "INTEGER": (int,), "REAL": (float,)}
Problem = Callable[[Any], str | None]
_NUL = "holds a NUL character"
_AS_GIVEN = "nothing: a model or a tool gave it so; the tools of SQLite cut such a text off"


def unreadable_rows(connection: sqlite3.Connection) -> Iterator[StoreFinding]:
    """Find rows of the records that cannot be read as what they are; a text with a NUL can."""
    connection.text_factory = bytes
    try:
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'memories_fts%'"
        ).fetchall():
            if name.decode() not in OF_CHECKPOINTS:
                yield from _of_table(connection, name.decode())
    finally:
        connection.text_factory = str


def _of_table(connection: sqlite3.Connection, table: str) -> Iterator[StoreFinding]:
    columns = [
        (row[1].decode(), row[2].decode()) for row in connection.execute(f"PRAGMA table_info({table})")
    ]
    checks = [_checks(table, name, kind) for name, kind in columns]
    bad: dict[str, list[int]] = {}
    for rowid, *values in connection.execute(f"SELECT rowid, * FROM {table}"):
        for (name, _), problems, value in zip(columns, checks, values, strict=True):
            problem = None if value is None else next(filter(None, (find(value) for find in problems)), None)
            if problem:
                bad.setdefault(f"{name} {problem}", []).append(rowid)
    for problem, rows in bad.items():
        step, note = (_AS_GIVEN, True) if problem.endswith(_NUL) else (RESTORE, False)
        yield StoreFinding(RECORDS, f"{table}: {problem}, in row {several(rows)}", step, note)


def _checks(table: str, column: str, kind: str) -> list[Problem]:
    checks: list[Problem] = [lambda value: None if isinstance(value, _KINDS[kind]) else "is of another type"]
    if kind == "TEXT":
        checks.append(_no_utf_8)
    if shapes := JSON.get(table, {}).get(column):
        checks.append(lambda value: _no_json(value, shapes))
    if column in TIMES.get(table, ()):
        checks.append(_no_time)
    if allowed := WORDS.get(table, {}).get(column):
        checks.append(lambda value: None if value.decode() in allowed else "is none of the words it may be")
    if kind == "TEXT":
        checks.append(lambda value: _NUL if b"\0" in value else None)
    return checks


def _no_utf_8(value: bytes) -> str | None:
    try:
        value.decode()
    except UnicodeDecodeError:
        return "is no UTF-8 text"
    return None


def _no_json(value: bytes, shapes: tuple[type, ...] = ANY) -> str | None:
    try:
        return None if isinstance(json.loads(value), shapes) else "is JSON of another shape"
    except (ValueError, TypeError, RecursionError):
        return "is no JSON"


def _no_time(value: bytes) -> str | None:
    try:
        return None if datetime.fromisoformat(value.decode()).tzinfo else "is a time without a zone"
    except ValueError:
        return "is no time"


def unreadable_checkpoints(connection: sqlite3.Connection) -> Iterator[StoreFinding]:
    """Find checkpoints that cannot be read, or name what this program never writes; nothing of it is run."""
    from planwright.checkpoints.serde import (
        AllowListedSerializer,
    )  # it knows langgraph, which takes long to load

    serde = AllowListedSerializer()
    bad: dict[str, list[str]] = {}
    stored, lacking = _contents(connection), "a checkpoint lacks a value that it had when it was written"
    for thread, kind, value in _checkpoint_values(connection):
        try:
            if not _needs(kind, value, serde) <= stored.get(thread, set()):
                bad.setdefault(lacking, []).append(thread)
        except (SetupError, ValueError, TypeError, LookupError, AttributeError) as error:
            bad.setdefault(getattr(error, "cause", "a value cannot be read"), []).append(thread)
    for thread, metadata in connection.execute("SELECT thread_id, metadata FROM checkpoints"):
        if metadata is not None and _no_json(metadata):
            bad.setdefault("the metadata of a checkpoint is no JSON", []).append(thread)
    for problem, threads in bad.items():
        where = f"on thread {several(sorted(set(threads)))}"
        yield StoreFinding(RECORDS, f"{problem}, {where}", f"{RESTORE}, or begin a new thread")


def _checkpoint_values(connection: sqlite3.Connection) -> Iterator[tuple[str, str, bytes]]:
    """Read whatever checkpoints hold: thread, type and bytes."""
    for table, column in OF_CHECKPOINTS.items():
        yield from connection.execute(f"SELECT thread_id, type, {column} FROM {table}")


def _contents(connection: sqlite3.Connection) -> dict[str, set[bytes]]:
    hashes: dict[str, set[bytes]] = {}
    for thread, digest in connection.execute("SELECT thread_id, hash FROM contents"):
        hashes.setdefault(thread, set()).add(digest)
    return hashes


def _needs(kind: str, value: bytes, serde: SerializerProtocol) -> set[bytes]:
    """Read a value, and name the contents that it needs.

    Raises SetupError, ValueError, TypeError and LookupError for one that cannot be read.
    """
    if kind == NAMED:
        return {value}
    if kind == LOG:
        return set(log_items(value))
    serde.loads_typed(("msgpack" if kind == KIND else kind, value))
    return refs_in(value) if kind == KIND else set()
