"""Pruning a store with very many threads."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from planwright.records.records import open_records
from planwright.settings.workspace import StorageSettings
from planwright.upkeep.prune import Retention, prune_in_use

THREADS = 4000
RUN = "2026-01-01T00:00:00+00:00"


def fill(connection: sqlite3.Connection) -> None:
    threads = [f"t{number}" for number in range(THREADS)]
    connection.executemany(
        "INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, type, checkpoint, metadata)"
        " VALUES (?, '', '1', 'msgpack', x'', x'')",
        [(thread,) for thread in threads],
    )
    connection.executemany(
        "INSERT INTO effects (key, tenant, thread_id, run_id, step_uid, attempt, ordinal, capability, effect,"
        " args_hash, args, status, intended_at)"
        " VALUES (?, 'acme', ?, 'r', 'u', 1, 1, 'c', 'blind', 'h', '{}', 'done', '2026')",
        [(f"{thread}-{number}", thread) for thread in threads for number in range(5)],
    )
    connection.executemany(
        "INSERT INTO runs (run_id, thread_id, tenant, status, request, messages, context, started_at,"
        f" ended_at) VALUES (?, ?, 'acme', 'completed', 'x', '[]', '{{}}', '{RUN}', '{RUN}')",
        [(f"r{thread}", thread) for thread in threads],
    )


async def test_each_thread_is_looked_up_by_itself(tmp_path: Path) -> None:
    """The time grows with the number of threads: before, each read all of them."""
    with closing(open_records(tmp_path)) as records:
        await records.database.run("fill", fill)
        before = time.process_time()
        await prune_in_use(records.database, Retention(StorageSettings(), datetime.now(UTC)))
        assert time.process_time() - before < 2
