"""The agent: the compiled graph behind its door, and the ways to get one.

Without a checkpointer it is compiled bare: a host brings its own saver, or the workspace's store serves.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateUpdate
from pydantic import JsonValue
from typing_extensions import Unpack

from planwright.approvals.bulk import BulkApproval, BulkApprovals, BulkOptions
from planwright.capabilities.mcp.servers import Servers
from planwright.checkpoints.stores import Stores
from planwright.checkpoints.upkeep.store_times import refuse_two_times
from planwright.domain.run_context import read_context
from planwright.graph.arrivals import Arrival
from planwright.graph.checks import (
    check_newest,
    checkpoint_facts,
    in_the_past,
    names_checkpoint,
    nested,
    resuming,
    thread_of,
    without_checkpoint,
)
from planwright.graph.door import Door
from planwright.graph.fork import Forking, ForkOptions, NewRunOptions, Point
from planwright.graph.single_call import SingleCalls
from planwright.graph.sync_loop import BackgroundLoop
from planwright.graph.undo import Undoing
from planwright.models.providers.router import Router


class Agent(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled LangGraph graph whose every entry passes the door.

    Use it like any other: `invoke`, `ainvoke`, `stream`, `astream`, `get_state`; resume with
    `Command(resume=…)` by thread id. `with` and `async with` close it.
    """

    def __init__(
        self,
        *,
        door: Door,
        loop: BackgroundLoop,
        router: Router,
        servers: Servers,
        undoing: Undoing,
        single_calls: SingleCalls,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.door = door
        self.servers = servers
        self.undoing = undoing
        self.single_calls = single_calls
        self.loop = loop
        self.router = router

    @property
    def stores(self) -> Stores:
        """Where this agent keeps its runs."""
        return self.door.stores

    def close(self) -> None:
        """Write what is queued, close the files and the connections to models, end the MCP servers."""
        self.loop.call(self.router.close)
        self.loop.close()
        self.servers.close()
        self.door.stores.close()
        self.door.langsmith.close()

    async def aclose(self) -> None:
        """Close what `close` does, and the connections opened on this event loop."""
        await self.router.close()
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def astream(
        self,
        input: object,
        config: RunnableConfig | None = None,
        *,
        context: object = None,
        durability: object = None,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        """Stream a run, as LangGraph does. Durability is `sync` unless another is asked for."""
        thread = thread_of(merge_configs(self.config, config))
        async with self.door.telling_faults(input, thread):
            merged = await self._newest(config)
            await self.door.arrivals.check_tenant(thread, context)
            options = {"durability": durability or "sync", **kwargs}
            if nested(merged) and resuming(merged):
                input = None
            snapshot = await self.aget_state(merged)
            if not nested(merged):
                await refuse_two_times(self.stores.database, checkpoint_facts(thread, snapshot))
            if input is None and await self.door.arrivals.has_ended(thread, snapshot):
                async for chunk in self._graph(None, merged, **options):
                    yield chunk
                return
            if await self.door.arrivals.cancels_previous_run(input, thread, context):
                await self.acancel(thread, by="a new message")
                snapshot = await self.aget_state(merged)
            if input is not None and await self.door.arrivals.answer_not_written(thread, snapshot):
                await self.ainvoke(None, merged)
                snapshot = await self.aget_state(merged)
            breakpoints = bool(kwargs.get("interrupt_before") or kwargs.get("interrupt_after"))
            arrival = Arrival(input, merged, context, snapshot)
            async with self.door.enter(arrival, breakpoints=breakpoints) as run:
                async for chunk in self._graph(run.input, run.config, context=run.context, **options):
                    yield chunk
                if await self.door.stopping(run):
                    run.invocation.cancelled_by = run.invocation.cancelled_by or "another process"
                    async for chunk in self._graph(None, run.config, context=run.context, **options):
                        yield chunk

    def _graph(self, input: object, config: RunnableConfig, **options: Any) -> AsyncIterator[Any]:
        """Stream the graph behind the door."""
        return self.door.langsmith.within(super().astream(input, config, **options))

    async def atake_over(self, thread_id: str) -> str:
        """Take a thread's run from the process that holds it, and name that; go on with `invoke(None, …)`.

        What that was sending it may still send: it is in doubt until that process has ended. Raises RunError.
        """
        return await self.door.control.take_over(thread_id)

    def take_over(self, thread_id: str) -> str:
        """Take a run over from code without an event loop."""
        return self.loop.call(lambda: self.atake_over(thread_id))

    async def acancel(self, thread_id: str, by: str = "python") -> bool:
        """Cancel a thread's run: running calls finish, the rest is skipped, the thread stays usable.

        Returns whether it has ended; else who works on it ends it in a moment. Raises RunError for no run.
        """
        await self.door.control.cancel(thread_id, by)
        if await self.door.control.wait_until_unleased(thread_id):
            await self.ainvoke(None, {"configurable": {"thread_id": thread_id}})
        return await self.door.control.has_ended(thread_id)

    def cancel(self, thread_id: str, by: str = "python") -> bool:
        """Cancel a thread's run from code without an event loop."""
        return self.loop.call(lambda: self.acancel(thread_id, by))

    async def afork(
        self,
        source: RunnableConfig | str,
        checkpoint_id: str | None = None,
        *,
        rerun: Iterable[str] = (),
        thread_id: str | None = None,
        context: object = None,
    ) -> RunnableConfig:
        """Begin a new thread with the plan of an older run, and return its config for `invoke(None, …)`.

        `source` is a run id, a thread id, or a config as in `get_state_history`. Steps that were done,
        at the checkpoint or by now, keep their results; those in `rerun`, and what needs them, run again.
        Of `context`, `channel` and `gate_ttl_s` count. Raises RunError for what cannot be forked.
        """
        name = source if isinstance(source, str) else thread_of(source)
        if not isinstance(source, str):
            checkpoint_id = checkpoint_id or source["configurable"].get("checkpoint_id")
        again = [rerun] if isinstance(rerun, str) else list(rerun)
        begin = self._forking.begin(name, checkpoint_id, again, thread_id, read_context(context))
        return {"configurable": {"thread_id": await begin}}

    def fork(
        self, source: RunnableConfig | str, checkpoint_id: str | None = None, **options: Unpack[ForkOptions]
    ) -> RunnableConfig:
        """Begin a fork from code without an event loop."""
        return self.loop.call(lambda: self.afork(source, checkpoint_id, **options))

    async def aundo(
        self, source: str, *, without: Collection[str] = (), **options: Unpack[NewRunOptions]
    ) -> RunnableConfig:
        """Begin a run that undoes what a run has done, and return its config for `invoke(None, …)`.

        `source` is a run or a thread, by id; a person approves it. What the steps `without` did stays, with
        what that builds on. Of `context`, `channel` and `gate_ttl_s` count. Raises RunError.
        """
        context, thread_id = read_context(options.get("context")), options.get("thread_id")
        return {"configurable": {"thread_id": await self.undoing.begin(source, context, thread_id, without)}}

    def undo(
        self, source: str, *, without: Collection[str] = (), **options: Unpack[NewRunOptions]
    ) -> RunnableConfig:
        """Begin an undoing from code without an event loop."""
        return self.loop.call(lambda: self.aundo(source, without=without, **options))

    async def acall(
        self,
        capability: str,
        args: Mapping[str, JsonValue] | None = None,
        *,
        thread_id: str | None = None,
        context: object = None,
    ) -> RunnableConfig:
        """Begin a run of one call, and return its config for `invoke(None, …)`; no model has a say in it.

        It passes policy, gate and ledger like any other. Raises SetupError for what is not there, or does
        not take these arguments; RunError for a thread that is not new.
        """
        thread = await self.single_calls.begin(capability, args or {}, read_context(context), thread_id)
        return {"configurable": {"thread_id": thread}}

    def call(
        self,
        capability: str,
        args: Mapping[str, JsonValue] | None = None,
        **options: Unpack[NewRunOptions],
    ) -> RunnableConfig:
        """Begin a run of one call from code without an event loop."""
        return self.loop.call(lambda: self.acall(capability, args, **options))

    async def aapprove_all(self, capability: str, **options: Unpack[BulkOptions]) -> BulkApproval:
        """Approve the gates that ask about a capability (a name or a glob) and nothing else, one by one."""
        return await BulkApprovals(self, self.stores, self.door.clock).approve_all(capability, options)

    def approve_all(self, capability: str, **options: Unpack[BulkOptions]) -> BulkApproval:
        """Approve many gates from code without an event loop."""
        return self.loop.call(lambda: self.aapprove_all(capability, **options))

    async def adecide_effects(self, run: str, effects: Iterable[object], by: str = "python") -> None:
        """Say of each effect that an ended run left in doubt whether it happened, as a `respond` does."""
        await self.door.answering.decide_ended(run, list(effects), by)

    def decide_effects(self, run: str, effects: Iterable[object], by: str = "python") -> None:
        """Decide over effects in doubt from code without an event loop."""
        self.loop.call(lambda: self.adecide_effects(run, effects, by))

    def checkpoints(self, thread_id: str) -> list[Point]:
        """List the checkpoints of a thread, or of one run, that a fork can begin at, the newest first."""
        return self.loop.call(lambda: self._forking.points(thread_id))

    def stream(self, input: object, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Stream a run from code without an event loop."""
        return self.loop.iterate(lambda: self.astream(input, config, **kwargs))

    def update_state(self, *args: Any, **kwargs: Any) -> RunnableConfig:
        """Change a thread's state from code without an event loop; routes are async."""
        return self.loop.call(lambda: self.aupdate_state(*args, **kwargs))

    def bulk_update_state(self, *args: Any, **kwargs: Any) -> RunnableConfig:
        """Apply several state updates from code without an event loop."""
        return self.loop.call(lambda: self.abulk_update_state(*args, **kwargs))

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Apply state updates to the newest checkpoint of a thread, and to no older one."""
        newest = await self._newest(config)
        await self.door.control.refuse_busy(str(newest["configurable"]["thread_id"]))
        with self.door.langsmith.around():
            return await super().abulk_update_state(newest, supersteps)

    async def _newest(self, config: RunnableConfig | None) -> RunnableConfig:
        """Merge a config with what is bound; a checkpoint id in it has to be the newest of its thread.

        Raises RunError for an older one, and for one that is bound: it is the newest once at most.
        """
        merged = merge_configs(self.config, config)
        if not names_checkpoint(merged):
            return merged
        newest = without_checkpoint(merged)
        if names_checkpoint(self.config or {}):
            raise in_the_past(merged)
        check_newest(merged, await self.aget_state(newest))
        return newest

    @property
    def _forking(self) -> Forking:
        return Forking(self, self.door.stores, self.door.clock)

    def _resolve_checkpointer(self, config: RunnableConfig) -> BaseCheckpointSaver[Any] | None:
        """Fall back on the workspace's own store where no host brought a saver."""
        return super()._resolve_checkpointer(config) or self.door.stores.saver
