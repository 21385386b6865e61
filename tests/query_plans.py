"""Which statements pass over a whole table that grows with runs: what both engines say of each.

Most statements stand in the source. Those that are put together there are written down while a run is done,
and while the readers of pages read.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.filled_store import PLAN, note
from planwright.checkpoints.thread_state.pruning import keep_newest, threads_with
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.records.history import effect_pages as effects
from planwright.records.history import memory_pages as memories
from planwright.records.history import run_pages as runs
from planwright.records.history import session_pages as sessions
from planwright.records.history.run_records import recorded_plan
from planwright.records.history.usage_history import UsageScope, used_by
from planwright.records.stores import Stores, open_stores
from planwright.settings.settings import load
from planwright.store.database import Database
from planwright.store.engines.engine import Engine
from planwright.store.engines.sqlite import SqliteEngine
from planwright.store.sealed_rows import TABLES
from tests.statements import SQL, statements

SMALL = frozenset(("store_time", "workers", "usage_days", "sqlite_master"))
"""Tables that do not grow with runs."""
OPEN = frozenset(
    ("runs_open", "gates_open", "usage_reserved", "audit_setbacks", "proposals_open", "runs_asking")
)
"""Indexes of the few rows that something still waits for."""
WIDE = frozenset(("tenant=?", "status=?", "kind=?", "rowid>?"))
"""Conditions of an index that most rows may meet."""
INTENDED: Mapping[str, str] = {}


class Watched:
    """An engine whose connections write down what they are asked: SQLite with values in their places."""

    def __init__(self, engine: Engine, asked: dict[str, None]) -> None:
        self._engine, self._asked = engine, asked

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def open(self) -> Any:
        """Open the store for writing."""
        return self._watch(self._engine.open())

    def open_to_read(self) -> Any:
        """Open the store for reading."""
        return self._watch(self._engine.open_to_read())

    def _watch(self, connection: sqlite3.Connection) -> Any:
        if not isinstance(connection, sqlite3.Connection):
            return WatchedSession(connection, self._asked)
        connection.set_trace_callback(lambda sql: self._asked.setdefault(sql))
        return connection


class WatchedSession:
    """A session of a server that writes down what it is asked."""

    def __init__(self, session: Any, asked: dict[str, None]) -> None:
        self._session, self._asked = session, asked

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def execute(self, sql: str, *values: Any) -> Any:
        """Ask one statement."""
        self._asked.setdefault(sql)
        return self._session.execute(sql, *values)

    def executemany(self, sql: str, rows: Any) -> Any:
        """Ask a statement for each of some rows."""
        self._asked.setdefault(sql)
        return self._session.executemany(sql, rows)


def asked_of(folder: Path, url: str) -> list[str]:
    """Do a run in a filled store and read all its pages; list every statement of the program, those too."""
    asked: dict[str, None] = {}

    def watched(path: Path, migrations: tuple[str, ...], **options: Any) -> Database:
        engine = options.pop("engine") or SqliteEngine(path, migrations, 30, None)
        return Database(path, migrations, engine=Watched(engine, asked), **options)  # type: ignore[arg-type]

    settings = load(folder, planning={"mode": "always"}, approval={"plan": "never"})
    stores = open_stores(settings.store_folder, url=url, kind=watched)
    model = ScriptedModel(replies=[json.dumps(PLAN), "Noted."])
    with build_graph(settings, model=model, stores=stores, capabilities=[note]) as agent:
        config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}}
        result = asyncio.run(agent.ainvoke({"messages": [("user", "Note it")]}, config))
        assert result["status"] == "completed", result
        asyncio.run(_find(stores, config["configurable"]["thread_id"]))
        for reader in READERS:
            stores.database.look(reader)
    of_source = (sql for module, sql in statements() if not module.startswith("upkeep"))
    return [sql for sql in dict.fromkeys((*of_source, *asked)) if SQL.match(sql)]


async def _find(stores: Stores, thread_id: str) -> None:
    await stores.runs.named("plan_1")
    await stores.ledger.called_in("r", "s")
    await stores.ledger.called_before("r", thread_id)


def _readers() -> Iterator[Callable[[sqlite3.Connection], object]]:
    """Read what is put together of parts, with each part once."""
    tenant = "default"
    for wanted in (
        *(runs.RunFilter(status=status) for status in ("running", "completed")),
        *(runs.RunFilter(tenant, status=status) for status in ("", "running", "interrupted", "completed")),
        *(runs.RunFilter(tenant, agent="a"), runs.RunFilter(tenant, text="x")),
        *(runs.RunFilter(waiting=True, asked_since="2026"), runs.RunFilter()),
    ):
        yield lambda c, wanted=wanted: runs.runs_page(c, wanted, 50, 100)
    for thread_id in ("", "t"):
        yield lambda c, which=thread_id: runs.threads_with_state(c, tenant, 5, which, 10)
    for status, text in product(("", "done", "in_doubt"), ("", "x")):
        yield lambda c, s=status, t=text: effects.effect_page(c, effects.EffectFilter(tenant, t, s), 50, 0)
    for tenant_, id_, open_ in product((None, tenant), (None, "r"), (True, False)):
        filter_ = sessions.SessionFilter(tenant_, id_, open_)
        yield lambda c, wanted=filter_: sessions.session_page(c, wanted, 50, 0)
    for wanted in (
        *(memories.MemoryFilter(tenant), memories.MemoryFilter(tenant, every=True)),
        *(memories.MemoryFilter(tenant, id="i", every=True), memories.MemoryFilter(tenant, run="r", every=True)),
    ):
        yield lambda c, wanted=wanted: memories.proposal_rows(c, wanted, 50)
    for by in ("provider", "run", "day", "tenant", "agent"):
        yield lambda c, by=by: used_by(c, by, UsageScope(datetime.now(UTC)))
    for table in TABLES.values():
        yield lambda c, table=table: table.of_run(c, "r")
    for table in ("runs", "gates", "effects"):
        yield lambda c, table=table: TABLES[table].row(c, "k")
    yield lambda c: recorded_plan(c, "r")
    yield lambda c: keep_newest(c, "t", 1)
    yield lambda c: threads_with(c, "r")


READERS = tuple(_readers())
