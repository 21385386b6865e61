"""The checkpoint saver: LangGraph's SQLite tables and queries behind our one writer thread.

The stock saver has no async methods, and the stock async saver fails from a second event loop.
This one can be awaited from any loop and called without one; either reads the other's file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.sqlite import SqliteSaver

from planwright.checkpoints.database import Database, Job, T
from planwright.checkpoints.ownership.fencing import lost
from planwright.checkpoints.serde import AllowListedSerializer
from planwright.domain.lease import Lease

Written = Callable[[Lease], Awaitable[None]]
"""Waits until all events of a run are durable."""
LEASE_KEY = "__planwright_lease"  # where the door puts the lease into the config of an invocation


class _Tables(SqliteSaver):
    """The stock saver's reads and writes on a connection whose transaction is ours."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection, serde=AllowListedSerializer())

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        """Lend a cursor without a commit: the writer thread commits."""
        with closing(self.conn.cursor()) as cursor:
            yield cursor

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read one checkpoint; the newest is the one written last, whatever the clock said then."""
        place = config["configurable"]
        if not place.get("checkpoint_id"):
            query = (
                "SELECT checkpoint_id FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ?"
                " ORDER BY rowid DESC LIMIT 1"
            )
            values = (str(place["thread_id"]), place.get("checkpoint_ns", ""))
            if (row := self.conn.execute(query, values).fetchone()) is None:
                return None
            newest = dict(
                zip(("thread_id", "checkpoint_ns", "checkpoint_id"), (*values, row[0]), strict=True)
            )
            config = {"configurable": newest}
        return super().get_tuple(config)


class Saver(SqliteSaver):
    """A durable LangGraph checkpointer for any event loop, and for none."""

    def __init__(self, database: Database, written: Written) -> None:
        super(SqliteSaver, self).__init__(serde=AllowListedSerializer())
        self.database = database
        self._written = written
        self._opened: _Tables | None = None

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read one checkpoint, the newest unless the config names another."""
        return self.database.call("get", lambda c: self._tables(c).get_tuple(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """List checkpoints, newest first."""
        return iter(
            self.database.call(
                "list", lambda c: [*self._tables(c).list(config, filter=filter, before=before, limit=limit)]
            )
        )

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write a checkpoint and return when it is durable."""
        job = _fenced(config, lambda c: self._tables(c).put(config, checkpoint, metadata, new_versions))
        return self.database.call("checkpoint", job)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Write what a finished task leaves behind before its superstep ends."""
        job = _fenced(config, lambda c: self._tables(c).put_writes(config, writes, task_id, task_path))
        self.database.call("writes", job)

    def delete_thread(self, thread_id: str) -> None:
        """Delete every checkpoint of a thread."""
        self.database.call("delete", lambda c: self._tables(c).delete_thread(thread_id))

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Read the history of delta channels."""
        return self.database.call(
            "history", lambda c: self._tables(c).get_delta_channel_history(config=config, channels=channels)
        )

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read one checkpoint, the newest unless the config names another."""
        return await self.database.run("get", lambda c: self._tables(c).get_tuple(config))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """List checkpoints, newest first."""
        checkpoints = await self.database.run(
            "list", lambda c: [*self._tables(c).list(config, filter=filter, before=before, limit=limit)]
        )
        for item in checkpoints:
            yield item

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write a checkpoint, after the events before it, and return when it is durable."""
        await self._after_events(config)
        job = _fenced(config, lambda c: self._tables(c).put(config, checkpoint, metadata, new_versions))
        return await self.database.run("checkpoint", job)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Write what a finished task leaves behind before its superstep ends, after the events of it."""
        await self._after_events(config)
        job = _fenced(config, lambda c: self._tables(c).put_writes(config, writes, task_id, task_path))
        await self.database.run("writes", job)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete every checkpoint of a thread."""
        await self.database.run("delete", lambda c: self._tables(c).delete_thread(thread_id))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Read the history of delta channels."""
        return await self.database.run(
            "history", lambda c: self._tables(c).get_delta_channel_history(config=config, channels=channels)
        )

    async def fence(self, lease: Lease) -> None:
        """Let only this lease write checkpoints of its thread. Raises LeaseLost for an old one."""

        def job(connection: sqlite3.Connection) -> None:
            raised = connection.execute(
                "INSERT INTO fences (thread_id, token) VALUES (?,?) ON CONFLICT (thread_id) DO UPDATE"
                " SET token = excluded.token WHERE token <= excluded.token",
                (lease.thread_id, lease.token),
            )
            if not raised.rowcount:
                raise lost(lease)

        await self.database.run("fence", job)

    async def _after_events(self, config: RunnableConfig) -> None:
        lease: Lease | None = config["configurable"].get(LEASE_KEY)
        if lease is not None:
            await self._written(lease)

    def _tables(self, connection: sqlite3.Connection) -> _Tables:
        """Make the tables of a connection once; called on the writer thread only."""
        if self._opened is None or self._opened.conn is not connection:
            self._opened = _Tables(connection)
        return self._opened


def _fenced(config: RunnableConfig, job: Job[T]) -> Job[T]:
    """Guard a write of an invocation, in its own transaction; what is written outside of one has no lease."""
    lease: Lease | None = config["configurable"].get(LEASE_KEY)

    def guarded(connection: sqlite3.Connection) -> T:
        if lease is not None:
            query = "SELECT token FROM fences WHERE thread_id = ?"
            row = connection.execute(query, (lease.thread_id,)).fetchone()
            if row is None or row[0] != lease.token:
                raise lost(lease)
        return job(connection)

    return guarded
