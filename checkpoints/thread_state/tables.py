"""The tables of LangGraph's checkpoints, by SQL that SQLite and PostgreSQL both understand."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.sqlite.utils import search_where

from planwright.checkpoints.thread_state.layout import (
    AT,
    KIND,
    LOG,
    MOST_PARAMETERS,
    NAMED,
    Place,
    items_of,
)
from planwright.checkpoints.thread_state.packing import Content, Packed, Packer, Unpacked
from planwright.domain.errors import SetupError
from planwright.store.engines.engine import require

Write = tuple[int, str, str, bytes]
"""One thing that a task wrote: its number, the channel, type and bytes."""
Filter: TypeAlias = "dict[str, Any] | None"
"""Metadata that checkpoints must have to be listed; None for any."""
_COLUMNS = "thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata"


class Tables:
    """Reads and writes on one connection, whose transaction is the caller's."""

    def __init__(self, connection: sqlite3.Connection, serde: SerializerProtocol, packer: Packer) -> None:
        self._connection = connection
        self._serde = serde
        self._packer = packer

    def put(self, place: Place, parent_id: str | None, packed: Packed, metadata: bytes) -> None:
        """Write a checkpoint and the contents that its parent has not."""
        self._store(place[0], packed.contents)
        row = (*place, parent_id, KIND, packed.payload, metadata)
        self._connection.execute(
            f"INSERT OR REPLACE INTO checkpoints ({_COLUMNS}) VALUES (?,?,?,?,?,?,?)", row
        )

    def put_writes(
        self, place: Place, task: tuple[str, str], writes: Sequence[Write], contents: Sequence[Content]
    ) -> None:
        """Write what a task (id, path) leaves behind; a second time only where it says how the task ended."""
        self._store(place[0], contents)
        names = WRITES_IDX_MAP.keys()
        verb = "REPLACE" if all(channel in names for _, channel, _, _ in writes) else "IGNORE"
        self._connection.executemany(
            f"INSERT OR {verb} INTO writes (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx,"
            " channel, type, value) VALUES (?,?,?,?,?,?,?,?,?)",
            [(*place, *task, *write) for write in writes],
        )

    def get(
        self, thread_id: str, namespace: str, checkpoint_id: str | None, looked_at: Unpacked | None = None
    ) -> tuple[CheckpointTuple, Packed | None] | None:
        """Read one checkpoint; without an id the one written last, whatever the clock said then.

        Where it is the one that was `looked_at`, it is not unpacked again.
        """
        at = AT if checkpoint_id else "thread_id = ? AND checkpoint_ns = ?"
        values = (thread_id, namespace, *([checkpoint_id] if checkpoint_id else []))
        query = f"SELECT {_COLUMNS} FROM checkpoints WHERE {at} ORDER BY rowid DESC LIMIT 1"
        row = self._connection.execute(query, values).fetchone()
        return None if row is None else self._tuple(row, looked_at)

    def needs(self, places: Iterable[Place]) -> None:
        """Check that checkpoints are there whose contents a new one leans on. Raises SetupError."""
        there = f"EXISTS (SELECT 1 FROM checkpoints WHERE {AT})"
        for place in places:
            require(self._connection, there, place, partial(_removed, place[0]))

    def search(
        self,
        config: RunnableConfig | None,
        filter: Filter,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> Iterator[CheckpointTuple]:
        """Read checkpoints, the newest first."""
        where, values = search_where(config, filter, before)
        query = f"SELECT {_COLUMNS} FROM checkpoints {where} ORDER BY checkpoint_id DESC"
        if limit is not None:
            query, values = f"{query} LIMIT ?", (*values, limit)
        for row in self._connection.execute(query, values).fetchall():
            yield self._tuple(row)[0]

    def _tuple(
        self, row: sqlite3.Row, looked_at: Unpacked | None = None
    ) -> tuple[CheckpointTuple, Packed | None]:
        try:
            return self._together(row, looked_at)
        except LookupError as error:
            cause = f"a checkpoint of thread {row[0]} lacks a value that it had when it was written"
            raise SetupError(cause, "restore a backup, or begin a new thread") from error

    def _together(
        self, row: sqlite3.Row, looked_at: Unpacked | None
    ) -> tuple[CheckpointTuple, Packed | None]:
        thread_id, namespace, checkpoint_id, parent_id, _, payload, metadata = row
        packed = None
        if looked_at and looked_at[1].checkpoint_id == checkpoint_id:
            checkpoint, packed = looked_at
        else:
            checkpoint, packed = self._packer.unpack(payload, lambda hashes: self.contents(thread_id, hashes))
        result = CheckpointTuple(
            _config(thread_id, namespace, checkpoint_id),
            checkpoint,
            cast(CheckpointMetadata, {} if metadata is None else json.loads(metadata)),
            _config(thread_id, namespace, parent_id) if parent_id else None,
            self._writes((thread_id, namespace, checkpoint_id)),
        )
        return result, packed

    def _writes(self, place: Place) -> list[PendingWrite]:
        query = f"SELECT task_path, task_id, idx, channel, type, value FROM writes WHERE {AT}"
        rows = sorted(self._connection.execute(query, place).fetchall(), key=_write_order)
        named = self.contents(place[0], {row[5] for row in rows if row[4] == NAMED})
        items = items_of(index for kind, index in named.values() if kind == LOG)
        every = {**named, **self.contents(place[0], items - named.keys())}
        return [
            (task_id, channel, self._packer.value(every[value] if kind == NAMED else (kind, value), every))
            for _, task_id, _, channel, kind, value in rows
        ]

    def contents(self, thread_id: str, hashes: Iterable[bytes]) -> Mapping[bytes, tuple[str, bytes]]:
        """Read contents of a thread by their hashes."""
        wanted, rows = list(hashes), {}
        for start in range(0, len(wanted), MOST_PARAMETERS):
            some = wanted[start : start + MOST_PARAMETERS]
            marks = ",".join("?" * len(some))
            query = f"SELECT hash, type, value FROM contents WHERE thread_id = ? AND hash IN ({marks})"
            for digest, kind, value in self._connection.execute(query, (thread_id, *some)):
                rows[digest] = (kind, value)
        return rows

    def _store(self, thread_id: str, contents: Iterable[Content]) -> None:
        self._connection.executemany(
            "INSERT INTO contents (thread_id, hash, type, value) VALUES (?,?,?,?) ON CONFLICT DO NOTHING",
            [(thread_id, *content) for content in contents],
        )


def _removed(thread_id: str) -> SetupError:
    cause = f"checkpoints of thread {thread_id} were removed while it was worked on"
    return SetupError(cause, f"go on from what is on record: planwright resume {thread_id}")


def _write_order(row: sqlite3.Row) -> tuple[str, str, int]:
    return writes_sort_key(*row[:3])


def _config(thread_id: str, namespace: str, checkpoint_id: str) -> RunnableConfig:
    return {
        "configurable": {
            "thread_id": thread_id,
            "checkpoint_ns": namespace,
            "checkpoint_id": checkpoint_id,
        }
    }
