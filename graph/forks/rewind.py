"""Rewinding: an edited message or an answer asked for anew begins at an older checkpoint of its thread.

LangGraph goes on from there as if nothing had happened since. Here a new run begins with the conversation as
it was then. It is written down as a fork, so that what was done since is not done again unasked, and so
that it goes on by its thread id after a crash.
"""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, StateSnapshot

from planwright.domain.run_context import read_context
from planwright.graph.entry.arrivals import Arrival, Arrivals
from planwright.graph.entry.checks import read_state, thread_of, without_checkpoint
from planwright.graph.forks.fork import Forking, checkpoint_id_of, has_begun
from planwright.graph.wiring import Compiled
from planwright.records.forks import Fork
from planwright.records.stores import Stores
from planwright.state.agent_state import Task


class Rewinding:
    """Begin runs at older checkpoints of a thread whose newest run has ended."""

    def __init__(self, graph: Compiled, stores: Stores, arrivals: Arrivals) -> None:
        self._graph = graph
        self._stores = stores
        self._arrivals = arrivals

    async def base(self, entry: object, config: RunnableConfig) -> StateSnapshot | None:
        """Find the older checkpoint that an entry begins at; None for the newest, and where none can begin.

        A message begins at any; no input means the same request once more, so it has to be unanswered then.
        """
        if isinstance(entry, Command):
            return None
        base = await read_state(self._graph, config)
        newest = await read_state(self._graph, without_checkpoint(config))
        if not base.created_at or checkpoint_id_of(base) == checkpoint_id_of(newest):
            return None
        if entry is not None:
            return await self._before_request(base)
        return base if await self._unanswered(base, thread_of(config)) else None

    async def _before_request(self, base: StateSnapshot) -> StateSnapshot:
        """Go back to where the request that was at work had not come in: a message takes its place.

        Chat pages read ten states by default, so the first that they know of a message is in its run.
        """
        messages = base.values.get("messages", [])
        request = messages[-1].id if base.next and messages and messages[-1].type == "human" else None
        while request and base.parent_config and request in {m.id for m in base.values.get("messages", [])}:
            earlier = await read_state(self._graph, base.parent_config)
            if not earlier.created_at:
                break
            base = earlier
        return base

    async def begin(self, arrival: Arrival, base: StateSnapshot) -> None:
        """Write down the run that begins at an older checkpoint; `invoke(None)` on the thread leads it on.

        Raises SetupError for a message that begins no run, RunError while the newest run has not ended or
        where that of the checkpoint cannot be forked; then nothing has changed.
        """
        source = await self._source(arrival, base)
        if arrival.entry is None:
            forking = Forking(self._graph, self._stores)
            await forking.again(source, checkpoint_id_of(base), read_context(arrival.context))
            return
        run, _ = await self._arrivals.run_for(arrival)
        task = Task(task=run.request).model_dump(mode="json")
        fork = Fork(run_id=run.run_id, source_run=source, checkpoint_id=checkpoint_id_of(base), task=task)
        await self._stores.forks.begin(run, fork, [], self._stores.time.now())

    async def _unanswered(self, base: StateSnapshot, thread_id: str) -> bool:
        """Say whether a request was at work at a checkpoint, and now none is."""
        run = await self._stores.runs.latest(thread_id)
        messages = base.values.get("messages", [])
        answered = bool(messages) and messages[-1].type != "human"
        return bool(base.next) and not answered and run is not None and run.ended

    async def _source(self, arrival: Arrival, base: StateSnapshot) -> str:
        """Name the run of a checkpoint; where it had ended, or was only about to begin, the one after it."""
        of = base.values.get("run_id")
        if of and base.next and has_begun(base):
            return str(of)
        return await self._stores.forks.run_after(thread_of(arrival.config), of)
