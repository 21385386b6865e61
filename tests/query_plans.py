"""Which statements pass over a whole table that grows with runs: what both engines say of each.

Most statements stand in the source. Those that are put together there are written down while a run is done,
and while the readers of pages read.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, get_args

from typing_extensions import TypedDict

from benchmarks.filled_store import PLAN, note
from planwright.checkpoints.thread_state.pruning import keep_newest, threads_with
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.records.history import effect_pages as effects
from planwright.records.history import memory_pages as memories
from planwright.records.history import run_pages as runs
from planwright.records.history import session_pages as sessions
from planwright.records.history.run_records import recorded_plan
from planwright.records.history.usage_history import By, UsageScope, used_by
from planwright.records.stores import Stores, open_stores
from planwright.settings.settings import load
from planwright.store.database import Database
from planwright.store.engines.engine import Engine
from planwright.store.engines.sqlite import SqliteEngine
from planwright.store.sealed_rows import EFFECTS, GATES, RUNS, TABLES
from tests.statements import SQL, statements

SMALL = frozenset(("store_time", "workers", "usage_days", "sqlite_master"))
"""Tables that do not grow with runs."""
SORTED = "sorted"
"""What is put beside scans whose rows are sorted before the first is returned."""
OPEN = frozenset(
    ("runs_open", "gates_open", "usage_reserved", "audit_setbacks", "proposals_open", "runs_asking")
    + ("effects_in_doubt",)
)
"""Indexes of the few rows that something still waits for."""
WIDE = frozenset(("tenant=?", "status=?", "kind=?", "rowid>?"))
"""Conditions of an index that most rows may meet."""
IN_ORDER: Mapping[str, str] = {
    "SELECT n, hash FROM audit ORDER BY n DESC LIMIT 1": "the newest entry of the chain",
    "SELECT thread_id FROM runs ORDER BY rowid DESC LIMIT 1": "the newest run",
    "SELECT * FROM memories WHERE tenant = ? ORDER BY rowid DESC LIMIT ?": "the newest memories",
    "SELECT id, tenant, run_id, text, tags, created_at FROM memories": "a page of memories",
    "SELECT r.run_id, r.thread_id, r.tenant, CASE": "a page of runs, searched by words where there are some",
    "SELECT e.key, e.run_id, e.step_uid, e.capability, e.effect": "a page of effects, as that of runs",
    "SELECT r.run_id, r.thread_id, r.tenant, r.status, r.request": "a page of sessions",
    "SELECT run_id, status, context, started_at FROM runs": "the newest runs that ended, to be evaluated",
    "WITH RECURSIVE agents (agent) AS": "each agent is the first entry of an index after the one before it",
    "SELECT a.n, a.hash, a.kind, a.content, e.rowid AS place": "the entries after the one of the mark",
    "SELECT 1 FROM runs, sqlite_master LIMIT 1": "whether the tables may be read: the first row",
}
"""Statements that read in the order of an index and stop at a limit, by how they begin: they sort nothing."""
WHOLE: Mapping[str, str] = {
    "SELECT run_id FROM runs WHERE ended_at IS NOT NULL": "audit verify looks at every run",
    "SELECT * FROM audit ORDER BY n": "audit verify and export read the whole chain",
    "SELECT run_id FROM runs ORDER BY rowid": "replay of every run",
    "SELECT status, count(*) FROM runs GROUP BY tenant": "metrics count in an index, no row is read",
    "SELECT status, count(*) FROM effects GROUP BY tenant": "the same",
    "SELECT r.status AS name, count(*) AS count FROM runs r": "a page counts in an index, no row is read",
    "SELECT count(*) FROM runs r WHERE": "the same; searched by words, each request is read",
    "SELECT count(*) FROM effects e WHERE e.tenant": "the same",
    "SELECT count(*) FROM sessions s WHERE 1 = 1": "the same",
    "SELECT count(*) FROM memories WHERE tenant": "the same; they grow with what people accept",
    "SELECT count(*) FROM sign_ins WHERE": "the same; they grow with sign-ins",
    "SELECT way, outcome, address, person, tenant, at FROM sign_ins": "a page, of two tenants",
    "SELECT * FROM proposals WHERE tenant": "every proposal there ever was, where a person asks for all",
    "SELECT u.run_id AS name": "usage by run, of all runs",
    "SELECT s.run_id AS name": "usage by run, of all runs",
    "SELECT j.run_id AS name": "usage by run, of all runs",
    "SELECT DISTINCT thread_id FROM checkpoints WHERE json": "LangGraph's delete_for_runs, not called by us",
    "SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints WHERE json": "the same",
    "UPDATE runs SET status = status WHERE 1 = 0": "whether the tables may be written: no row is read",
}
"""Statements that are meant to pass over a whole table, by how they begin, and why."""


def unexcused(scans: Mapping[str, Sequence[str]]) -> tuple[list[tuple[str, Sequence[str]]], set[str]]:
    """List the statements whose scans nobody has meant, and the excuses that none has needed."""
    found, used = [], set()
    for sql, steps in scans.items():
        text = " ".join(sql.split())
        excuses = WHOLE if SORTED in steps else {**WHOLE, **IN_ORDER}
        used |= (mine := {words for words in excuses if text.startswith(words)})
        if not mine:
            found.append((text, steps))
    return found, {*WHOLE, *IN_ORDER} - used


class Page(TypedDict):
    """Which rows a page has."""

    limit: int
    skipped: int


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
        return Database(path, migrations, engine=Watched(engine, asked), **options)

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
    tenant, page = "default", Page(limit=50, skipped=100)
    for some in (
        *(runs.RunFilter(tenant, status=status) for status in ("", "running", "interrupted", "completed")),
        *(runs.RunFilter(tenant, agent="a"), runs.RunFilter(tenant, text="x")),
        *(runs.RunFilter(waiting=True, asked_since="2026"), runs.RunFilter()),
    ):
        yield partial(runs.runs_page, wanted=some, **page)
    for thread_id in ("", "t"):
        yield partial(runs.threads_with_state, tenant=tenant, after=5, thread_id=thread_id, most=10)
    for status, text in product(("", "done", "in_doubt"), ("", "x")):
        yield partial(effects.effect_page, wanted=effects.EffectFilter(tenant, text, status), **page)
    for of, id_, open_ in product((None, tenant), (None, "r"), (True, False)):
        yield partial(sessions.session_page, wanted=sessions.SessionFilter(of, id_, open_), **page)
    for every, id_, run in ((False, None, None), (True, None, None), (True, "i", None), (True, None, "r")):
        proposed = memories.MemoryFilter(tenant, id=id_, run=run, every=every)
        yield partial(memories.proposal_rows, wanted=proposed, limit=50)
    for by in get_args(By):
        yield partial(used_by, by=by, scope=UsageScope(datetime.now(UTC)))
    for table in TABLES.values():
        yield partial(table.of_run, run_id="r")
    yield from (partial(table.row, key="k") for table in (RUNS, GATES, EFFECTS))
    yield partial(recorded_plan, run_id="r")
    yield partial(keep_newest, thread_id="t", most=1)
    yield partial(threads_with, run_id="r")


READERS = tuple(_readers())
