"""What is done with the tables of checkpoints, each as a job of the writer thread, under the run's lease."""

from __future__ import annotations

import json
import sqlite3
from collections import OrderedDict
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import ERROR

from planwright.checkpoints.thread_state import pruning
from planwright.checkpoints.thread_state.layout import LOG, NAMED, Place
from planwright.checkpoints.thread_state.packing import Content, Packed, Packer, Unpacked
from planwright.checkpoints.thread_state.tables import Filter, Tables, Write
from planwright.domain.lease import Lease
from planwright.store.fencing import of_run
from planwright.store.queued_job import Job, T

LEASE_KEY = "__pregel_planwright_lease"  # where the door puts the lease into the config of an invocation
LOOK_KEY = "__pregel_planwright_look"  # says that the door looks at what the graph is about to read
INLINE = 256
"""Most bytes of a write that is stored in its own row."""
MOST_PARENTS = 256
MOST_LOOKS = 16
COLLECT_EVERY = 32


class CheckpointJobs:
    """Makes the jobs. Values are taken apart when a job is made, for they may change before it is done."""

    def __init__(self, serde: SerializerProtocol) -> None:
        self._serde = serde
        self._packer = Packer(serde)
        self._newest: OrderedDict[tuple[str, str], Packed] = OrderedDict()
        self._looks: OrderedDict[tuple[str, str], Unpacked] = OrderedDict()
        self._lane_checkpoints = 0

    def search(
        self,
        config: RunnableConfig | None,
        filter: Filter,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> Job[list[CheckpointTuple]]:
        """List checkpoints, the newest first."""
        return lambda connection: [*self._tables(connection).search(config, filter, before, limit)]

    def close_run(self, lease: Lease, most: int) -> Job[int]:
        """Remove the lanes of an ended run, and all but the newest checkpoints of its thread."""
        config: RunnableConfig = {"configurable": {"thread_id": lease.thread_id, LEASE_KEY: lease}}
        return self._guarded(config, lambda c: pruning.keep_newest(c, lease.thread_id, most, ended=True))

    def get(self, config: RunnableConfig) -> Job[CheckpointTuple | None]:
        """Read one checkpoint, the newest unless the config names another.

        What the door looks at, the next reader gets as it is, once: a long thread is not read twice an entry.
        """
        place = (thread_named(config), namespace_of(config))
        checkpoint_id, looks = get_checkpoint_id(config), LOOK_KEY in config["configurable"]

        def job(connection: sqlite3.Connection) -> CheckpointTuple | None:
            looked_at = None if looks or checkpoint_id else self._looks.pop(place, None)
            if (result := self._tables(connection).get(*place, checkpoint_id, looked_at)) is None:
                return None
            checkpoint, packed = result
            if packed and not checkpoint_id:
                self._remember(place, packed)
                if looks:
                    self._hand_over(place, (_apart(checkpoint.checkpoint), packed))
            return checkpoint._replace(config=config) if checkpoint_id else checkpoint

        return job

    def _hand_over(self, place: tuple[str, str], unpacked: Unpacked) -> None:
        self._looks[place] = unpacked
        while len(self._looks) > MOST_LOOKS:
            self._looks.popitem(last=False)

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata
    ) -> Job[RunnableConfig]:
        """Take a checkpoint apart now, for its values may change later, and write it in a job."""
        thread_id, namespace = thread_named(config), namespace_of(config)
        place, parent_id = (thread_id, namespace, checkpoint["id"]), get_checkpoint_id(config)
        parent = self._newest.get((thread_id, namespace))
        if parent is not None and parent.checkpoint_id != parent_id:
            parent = None
        outer = self._newest.get((thread_id, "")) if namespace else None
        packed = self._packer.pack(checkpoint, parent, outer)
        needed = [((thread_id, namespace), parent), ((thread_id, ""), outer)]
        leant_on = [(*where, other.checkpoint_id) for where, other in needed if other]
        facts = json.dumps(get_checkpoint_metadata(config, metadata), ensure_ascii=False)
        collects = self._collects(config, namespace)

        def job(connection: sqlite3.Connection) -> RunnableConfig:
            tables = self._tables(connection)
            tables.needs(leant_on)
            tables.put(place, parent_id, packed, facts.encode("utf-8", "ignore"))
            if namespace and parent and LEASE_KEY in config["configurable"]:
                pruning.keep_newest_of_lane(connection, (thread_id, namespace, parent.checkpoint_id))
            if collects:
                pruning.collect(connection, thread_id)
            return config_of(place)

        self._remember((thread_id, namespace), replace(packed, payload=b"", contents=()))
        return self._guarded(config, job)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task: tuple[str, str]
    ) -> Job[None]:
        """Spell what a task wrote now, and write it in a job.

        Of a task that was cancelled LangGraph hands over what it had written until then, without the way that
        leads on from it: a run that counted it as done would stand still. Only how it ended is written.
        """
        if any(channel == ERROR for channel, _ in writes):
            writes = [write for write in writes if write[0] in WRITES_IDX_MAP]
        place = (thread_named(config), namespace_of(config), str(get_checkpoint_id(config)))
        rows: list[Write] = []
        contents: list[Content] = []
        outer = self._newest.get((place[0], ""))
        for number, (channel, value) in enumerate(writes):
            content, parts = self._packer.write(value, outer)
            idx = WRITES_IDX_MAP.get(channel, number)
            if len(content.value) <= INLINE and content.type != LOG:
                rows.append((idx, channel, content.type, content.value))
            else:
                rows.append((idx, channel, NAMED, content.hash))
                contents += (content, *parts)
        leant_on = [(place[0], "", outer.checkpoint_id)] if outer else []

        def job(connection: sqlite3.Connection) -> None:
            tables = self._tables(connection)
            tables.needs(leant_on)
            tables.put_writes(place, task, rows, contents)

        return self._guarded(config, job)

    def _guarded(self, config: RunnableConfig, job: Job[T]) -> Job[T]:
        """Write under the lease of an invocation, where there is one."""
        return of_run(config["configurable"].get(LEASE_KEY), job)

    def _remember(self, key: tuple[str, str], packed: Packed) -> None:
        self._newest[key] = packed
        self._newest.move_to_end(key)
        while len(self._newest) > MOST_PARENTS:
            self._newest.popitem(last=False)

    def _collects(self, config: RunnableConfig, namespace: str) -> bool:
        """Say whether it is time to remove what the lanes of a run no longer need."""
        if not namespace or LEASE_KEY not in config["configurable"]:
            return False
        self._lane_checkpoints += 1
        return self._lane_checkpoints % COLLECT_EVERY == 0

    def _tables(self, connection: sqlite3.Connection) -> Tables:
        return Tables(connection, self._serde, self._packer)


def _apart(checkpoint: Checkpoint) -> Checkpoint:
    """Copy a checkpoint, its values shared: what the door looks at is changed by looking.

    LangGraph counts what tasks wrote into the checkpoint that a snapshot is made of; a graph that goes on
    from that one takes these tasks for done, and stops (`_aprepare_state_snapshot`).
    """
    values = checkpoint["channel_values"]
    copy = deepcopy({**checkpoint, "channel_values": {}})
    # The value of a join edge is a set, which is changed where it stands.
    own = {name: set(value) if isinstance(value, set) else value for name, value in values.items()}
    return cast(Checkpoint, {**copy, "channel_values": own})


def thread_named(config: RunnableConfig) -> str:
    """Read the id of the thread that a config names."""
    return str(config["configurable"]["thread_id"])


def namespace_of(config: RunnableConfig) -> str:
    """Read the namespace that a config names; "" for that of the whole graph."""
    return str(config["configurable"].get("checkpoint_ns", ""))


def config_of(place: Place) -> RunnableConfig:
    """Name a checkpoint by a config."""
    names = ("thread_id", "checkpoint_ns", "checkpoint_id")
    return {"configurable": dict(zip(names, place, strict=True))}
