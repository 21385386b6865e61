"""The checkpoint saver, behind our one writer thread: what does not change is stored once, what is past goes.

The stock saver has no async methods, and the stock async saver fails from a second event loop. This one can
be awaited from any loop and called without one. Each keeps the whole state at every superstep: 200 turns of
a chat were 700 MB for 400 KB of talk.
"""

from __future__ import annotations

import random
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

from planwright.checkpoints.serde import AllowListedSerializer
from planwright.checkpoints.thread_state import pruning
from planwright.checkpoints.thread_state.jobs import LEASE_KEY as LEASE_KEY
from planwright.checkpoints.thread_state.jobs import LOOK_KEY as LOOK_KEY
from planwright.checkpoints.thread_state.jobs import CheckpointJobs, config_of, namespace_of, thread_named
from planwright.checkpoints.thread_state.tables import Filter
from planwright.domain.errors import PlanwrightError
from planwright.domain.lease import Lease
from planwright.store.database import Database
from planwright.store.queued_job import STATE, Job

DIGITS = 32  # of a version's number
PAID_KEY = "__pregel_planwright_paid"  # where the door puts the model calls whose replies are not durable yet


class Saver(BaseCheckpointSaver[str]):
    """A durable LangGraph checkpointer for any event loop, and for none."""

    def __init__(self, database: Database) -> None:
        super().__init__(serde=AllowListedSerializer())
        self.database = database
        self._jobs = CheckpointJobs(self.serde)
        # LangGraph writes from several threads: what leans on a checkpoint is queued behind it.
        self._in_order = threading.Lock()

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Count a version on; a random end tells two futures of one past apart.

        Versions are compared as texts. LangGraph's server counts with 32 digits, whatever its saver says.
        """
        number = str(current).partition(".")[0] if current is not None else "0"
        return f"{int(number) + 1:0{DIGITS}}.{random.getrandbits(24):06x}"

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read one checkpoint, the newest unless the config names another."""
        return self.database.look(self._jobs.get(config), behind=STATE) if self._begun else None

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read one checkpoint, the newest unless the config names another."""
        return await self.database.read(self._jobs.get(config), behind=STATE) if self._begun else None

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: Filter = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """List checkpoints, newest first."""
        return iter(self.database.look(self._jobs.search(config, filter, before, limit), behind=STATE))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: Filter = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """List checkpoints, newest first."""
        for item in await self.database.read(self._jobs.search(config, filter, before, limit), behind=STATE):
            yield item

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write a checkpoint and return when it is durable."""
        with self._in_order:
            written = self.database.submit("checkpoint", self._jobs.put(config, checkpoint, metadata))
        return written.result()

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write a checkpoint after the events before it; that of a run rides with what has to be durable."""
        await self._hand_over("checkpoint", config, self._jobs.put(config, checkpoint, metadata))
        return config_of((thread_named(config), namespace_of(config), checkpoint["id"]))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Write what a finished task leaves behind before its superstep ends."""
        with self._in_order:
            job = self._jobs.put_writes(config, writes, (task_id, task_path))
            written = self.database.submit("writes", job)
        written.result()

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Write what a finished task leaves behind, after the events of it.

        Those of a run ride like its checkpoints, unless a model has replied, who would be paid again.
        """
        job = self._jobs.put_writes(config, writes, (task_id, task_path))
        if not (paid := config["configurable"].get(PAID_KEY)):
            await self._hand_over("writes", config, job)
            return
        paid.clear()
        try:
            await self.database.run("writes", job)
        except PlanwrightError as failure:  # LangGraph hears of it at the end of the graph only
            config["configurable"][LEASE_KEY].unwritten.append(failure)
            raise

    def delete_thread(self, thread_id: str) -> None:
        """Delete every checkpoint of a thread."""
        self.database.call("delete", partial(pruning.delete_thread, thread_id=thread_id))

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete every checkpoint of a thread."""
        await self.database.run("delete", partial(pruning.delete_thread, thread_id=thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints whose metadata name one of these runs."""
        self.database.call("delete", partial(pruning.delete_runs, run_ids=run_ids))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints whose metadata name one of these runs."""
        await self.database.run("delete", partial(pruning.delete_runs, run_ids=run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy every checkpoint of a thread to another."""
        self.database.call("copy", lambda c: pruning.copy_thread(c, source_thread_id, target_thread_id))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy every checkpoint of a thread to another."""
        await self.database.run("copy", lambda c: pruning.copy_thread(c, source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all checkpoints of threads (`delete`), or all but the newest of each namespace."""
        self.database.call("prune", partial(pruning.prune, thread_ids=thread_ids, strategy=strategy))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all checkpoints of threads (`delete`), or all but the newest of each namespace."""
        await self.database.run("prune", partial(pruning.prune, thread_ids=thread_ids, strategy=strategy))

    def close_run(self, lease: Lease, most: int) -> None:
        """Remove what an ended run needs no more: its lanes, and all but the newest `most` of its thread."""
        self.database.submit("prune", self._jobs.close_run(lease, most), rides=True)

    async def landed(self, lease: Lease) -> None:
        """Wait until what was written of a run is durable. Raises what kept it from that."""
        await self.database.run("landed", lambda _: None)
        lease.check()

    @property
    def _begun(self) -> bool:
        """Whether there is a store: looking for a thread makes none."""
        return self.database.engine.exists()

    async def _hand_over(self, name: str, config: RunnableConfig, job: Job[object]) -> None:
        """Queue what was written for a run; wait for the disk where another graph keeps its state here.

        A run knows what to do again after a kill. Another graph counts on what it has written: were the
        checkpoint before the node of an agent lost, its request would be made again, as a new one.
        """
        lease: Lease | None = config["configurable"].get(LEASE_KEY)
        if lease is None:
            await self.database.run(name, job)
            return
        lease.check()
        self.database.submit(name, job, rides=True, lost=lease.unwritten.append)
