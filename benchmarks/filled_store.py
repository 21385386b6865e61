"""A store with many runs that have ended, filled by bulk inserts: each run is a copy of one that was done.

Ids, times and the hashes of the audit chain are those of the copy; digests of rows are still those of the run
that was copied, so `audit verify` refuses the store. Threads have one checkpoint, whose values are left out.
Tables of which the run has no row get one for each run, so that every statement has rows to pass over.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from planwright.capabilities.declaration import capability
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.settings.settings import load
from planwright.store.audit_chain import Entry, entries, head

LEFT_OUT = frozenset(("audit", "store_time", "usage_days", "workers", "sign_ins", "rule_uses"))
"""Tables that have no rows of runs, and the chain, which is made anew."""
OF_THREADS = {"checkpoints": 1, "writes": 2, "contents": 2}
"""How many rows a thread has in the tables of LangGraph's state."""
TIMES = frozenset(
    ("started_at", "ended_at", "at", "ts", "created_at", "requested_at", "intended_at", "expires_at")
    + ("decided_at", "made_at", "due")
)
MINUTES = "strftime('%Y-%m-%dT%H:%M:%S', substr({0}, 1, 19), -nth || ' minutes') || substr({0}, 20)"
IDS = "replace(replace({0}, :run, :run || '-' || nth), :thread, :thread || '-' || nth)"
MOMENT = "2026-01-01T00:00:00.000000+00:00"
NUMBERS = "WITH RECURSIVE numbers (nth) AS (SELECT :runs UNION ALL SELECT nth - 1 FROM numbers WHERE nth > 1)"
PLAN = {"goal": "Note it", "steps": [{"id": "s1", "capability": "bench.note", "params": {"text": "it"}}]}


@capability("bench.note", mode="local_write", effect="idempotent", risk="Low")
async def note(text: str) -> str:
    """Note a text."""
    return f"noted {text}"


def fill(folder: Path, runs: int) -> Path:
    """Fill the store of a workspace with so many ended runs, one a minute. Returns its file."""
    thread_id = str(uuid.uuid4())
    settings = load(folder, planning={"mode": "always"}, approval={"plan": "never"})
    model = ScriptedModel(replies=[json.dumps(PLAN), "Noted."])
    with build_graph(settings, model=model, capabilities=[note]) as agent:
        config: Any = {"configurable": {"thread_id": thread_id}}
        result = asyncio.run(agent.ainvoke({"messages": [("user", "Note it")]}, config))
        assert result["status"] == "completed", result
    path = settings.store_folder / "planwright.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA cache_size=-400000")
        connection.execute("BEGIN")
        (run_id,) = connection.execute("SELECT run_id FROM runs").fetchone()
        place = {"run": run_id, "thread": thread_id, "runs": runs}
        for (table,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%fts%'"
        ).fetchall():
            if table not in LEFT_OUT:
                _multiply(connection, table, place)
        _append_entries(connection, place)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def _multiply(connection: sqlite3.Connection, table: str, place: dict[str, Any]) -> None:
    columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
    owner = "run_id" if any(column["name"] == "run_id" for column in columns) else "thread_id"
    mine = place["run"] if owner == "run_id" else place["thread"]
    if connection.execute(f"SELECT 1 FROM {table}").fetchone() is None:
        _invent(connection, table, columns, {"run_id": place["run"], "thread_id": place["thread"]})
    names = ", ".join(column["name"] for column in columns)
    values = ", ".join(_copied(column) for column in columns)
    rows = f"(SELECT * FROM {table} WHERE {owner} = :mine ORDER BY rowid LIMIT {OF_THREADS.get(table, 1000)})"
    connection.execute(
        f"{NUMBERS} INSERT INTO {table} ({names}) SELECT {values} FROM numbers CROSS JOIN {rows}",
        {**place, "mine": mine},
    )


def _copied(column: sqlite3.Row) -> str:
    """Say what a column of a copy holds."""
    name: str = column["name"]
    if column["type"] == "BLOB":
        return name if column["pk"] else "x'7b7d'"
    if column["type"] != "TEXT":
        return name
    if name in TIMES:
        return MINUTES.format(name)
    if column["pk"] == 1 and name not in ("run_id", "thread_id", "tenant"):
        return f"{name} || '-' || nth"
    return IDS.format(name)


def _invent(
    connection: sqlite3.Connection, table: str, columns: list[sqlite3.Row], own: dict[str, str]
) -> None:
    """Add a row to a table that the run has left empty."""
    word = json.dumps(own["run_id"])  # JSON, too, and of each copy another
    plain = {"TEXT": word, "INTEGER": 1, "REAL": 0.0, "BLOB": b"{}"}
    values = {column["name"]: plain[column["type"]] for column in columns}
    values |= {name: MOMENT for name in TIMES & values.keys() if values[name] == word}
    values |= {"tenant": "default", "id": f"{table}_{own['run_id']}", "status": "approved"} | own
    connection.execute(
        f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})",
        [values[column["name"]] for column in columns],
    )


def _append_entries(connection: sqlite3.Connection, place: dict[str, Any]) -> None:
    """Lengthen the chain by the entries of the copies."""
    copied = [entry for entry in entries(connection) if entry.run_id == place["run"]]
    connection.executemany(
        "INSERT INTO audit VALUES (?,?,?,?,?,?,?,?,?)", _entries(copied, head(connection), place)
    )


def _entries(
    copied: list[Entry], newest: tuple[int, str], place: dict[str, Any]
) -> Iterator[tuple[Any, ...]]:
    n, hash_ = newest
    for number in range(place["runs"], 0, -1):
        run_id = f"{place['run']}-{number}"
        for entry in copied:
            n += 1
            text = entry.content.replace(place["run"], run_id)
            subject = run_id if entry.kind == "run" else f"{entry.subject}-{number}"
            copy = replace(entry, n=n, run_id=run_id, subject=subject, content=text, prev_hash=hash_)
            hash_ = copy.own_hash
            yield (n, copy.tenant, run_id, copy.kind, subject, text, copy.at, copy.prev_hash, hash_)
