"""The agent: the compiled graph behind its door, and the ways to get one.

Without a checkpointer it is compiled bare: a host brings its own saver, or the workspace's store serves.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, aclosing, nullcontext, suppress
from dataclasses import replace
from typing import Any, Self, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.constants import END
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from langgraph.types import Interrupt, StateSnapshot, StateUpdate

from planwright.approvals.decide import gate_of
from planwright.checkpoints.saver import LOOK_KEY
from planwright.graph.entry.arrivals import Arrival
from planwright.graph.entry.checks import (
    check_newest,
    checkpoint_facts,
    context_around,
    control_around,
    goes_to_the_end,
    has_ended,
    in_the_past,
    names_checkpoint,
    nested,
    read_state,
    surrounded,
    thread_of,
    to_be_closed,
    without_checkpoint,
)
from planwright.graph.entry.door import AdmittedRun
from planwright.graph.entry.outputs import interrupts_in, with_status
from planwright.graph.entry.run_actions import RunActions
from planwright.graph.entry.sync_loop import in_own_task, see_threads
from planwright.records.runs import Run
from planwright.upkeep.store_times import refuse_two_times

NODE_MODES = frozenset(("checkpoints", "debug", "tasks"))
"""Modes of streaming that show each node by itself."""


class Agent(RunActions):
    """A compiled LangGraph graph whose every entry passes the door.

    Use it like any other: `invoke`, `ainvoke`, `stream`, `astream`, `get_state`; resume with
    `Command(resume=…)` by thread id. `with` and `async with` close it.
    """

    def close(self) -> None:
        """Write what is queued, close the files and the connections to models, end the MCP servers."""
        with ExitStack() as ends:  # what fails to close leaves nothing else open
            ends.callback(self.door.langsmith.close)
            ends.callback(self.door.stores.close)
            ends.callback(self.notifier.close)
            ends.callback(self.servers.close)
            ends.callback(self.loop.close)
            self.loop.call(self.router.close)

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

    def astream(
        self, input: object, config: RunnableConfig | None = None, **options: Any
    ) -> AsyncGenerator[Any, None]:
        """Stream a run, as LangGraph does. Durability is `sync` unless another is asked for.

        One that the caller drains by a `control` is paused, and raises GraphDrained. Where the caller is
        cancelled or stops to read, the run has stopped before the caller goes on.
        """
        return in_own_task(self._stream(input, config, **options))

    async def _stream(
        self,
        input: object,
        config: RunnableConfig | None,
        *,
        context: object = None,
        durability: object = None,
        control: RunControl | None = None,
        **kwargs: Any,
    ) -> AsyncGenerator[object, None]:
        see_threads(asyncio.get_running_loop())
        config = surrounded(merge_configs(self.config, config))
        thread, context = thread_of(config), context_around(config) if context is None else context
        self.door.pauses.pop(thread, None)  # of an earlier call, by whoever made it
        async with self.door.telling_faults(input, thread):
            free = names_checkpoint(config) and not names_checkpoint(self.config or {})
            base = await self._rewinding.base(input, config) if free else None
            merged = await self._newest(without_checkpoint(config) if base else config)
            await self.door.arrivals.check_tenant(thread, context)
            if goes_to_the_end(input):
                await self._resolve(config)
                input = None
            options = {"durability": durability or "sync", **kwargs}
            seen, snapshot = await self._run_and_state(thread, merged)
            if nested(merged) and await self.door.arrivals.comes_again(input, merged, snapshot):
                input = None
            newest, snapshot = await self._newest_run(merged, seen, snapshot)
            if input is None and base is None and has_ended(newest, snapshot):
                async for chunk in self._graph(None, merged, **options):
                    yield chunk
                return
            if await self.door.arrivals.cancels_previous_run(input, merged, context):
                await self.acancel(thread, by="a new message")
                newest, snapshot = await self.stores.runs.latest(thread), await read_state(self, merged)
            if input is not None and newest is not None and to_be_closed(newest, snapshot):
                await self.ainvoke(None, merged)
                seen, snapshot = await self._run_and_state(thread, merged)
            breakpoints = _has_breakpoints(kwargs)
            arrival = Arrival(input, merged, context, snapshot, seen.lease_token if seen else None)
            if base is not None:
                await self._rewinding.begin(arrival, base)
                arrival = replace(arrival, entry=None)
            own = control or control_around(merged)
            with self.notifier.afterwards(), nullcontext() if own else suppress(GraphDrained):
                async with (
                    self.door.enter(arrival, breakpoints=breakpoints, control=own) as run,
                    aclosing(self._admitted(run, options)) as chunks,
                ):
                    async for chunk in chunks:
                        yield chunk

    async def _admitted(self, run: AdmittedRun, options: dict[str, Any]) -> AsyncGenerator[Any, None]:
        """Stream a run that the door has let in; one that was cancelled is led to its end."""
        run.invocation.node_by_node = _node_by_node(run.config, options)
        options = {**options, "control": run.invocation.control}
        async with aclosing(self._graph(run.input, run.start, context=run.context, **options)) as chunks:
            async for chunk in chunks:
                if interrupts := interrupts_in(chunk):  # whoever reads them may read no further
                    self._show_interrupts(run.run.run_id, interrupts)
                yield chunk
        if await self.door.stopping(run):
            run.invocation.cancelled_by = run.invocation.cancelled_by or "another process"
            async with aclosing(self._graph(None, run.config, context=run.context, **options)) as chunks:
                async for chunk in chunks:
                    yield chunk

    async def _run_and_state(
        self, thread_id: str, config: RunnableConfig
    ) -> tuple[Run | None, StateSnapshot]:
        """Read a thread's newest run, then the state: who works on it later shows by its fencing token."""
        run = await self.stores.runs.latest(thread_id)
        looking = merge_configs(config, {"configurable": {LOOK_KEY: True}})
        return run, await read_state(self, looking)

    async def aget_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """Read the state of a thread; an answer that names no gate is meant for those that it shows."""
        return self._show(await super().aget_state(config, subgraphs=subgraphs))

    def get_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """Read the state of a thread from code without an event loop."""
        return self._show(super().get_state(config, subgraphs=subgraphs))

    def _show(self, snapshot: StateSnapshot) -> StateSnapshot:
        if snapshot.interrupts:
            self._show_interrupts(str(snapshot.values.get("run_id", "")), snapshot.interrupts)
        return snapshot

    def _show_interrupts(self, run_id: str, interrupts: Iterable[Interrupt]) -> None:
        gates = [gate for each in interrupts if (gate := gate_of(each.value))]
        self.door.answering.shown_gates.show(run_id, gates)

    async def _newest_run(
        self, config: RunnableConfig, seen: Run | None, snapshot: StateSnapshot
    ) -> tuple[Run | None, StateSnapshot]:
        """Read the newest run of a thread, and its state anew where it has ended since it was `seen`.

        Raises RunError where records and checkpoint tell of two times.
        """
        reading = self.stores.runs.latest(thread_of(config))
        if nested(config):
            return await reading, snapshot
        facts = checkpoint_facts(thread_of(config), snapshot)
        run, _ = await asyncio.gather(reading, refuse_two_times(self.stores.database, facts))
        if run is not None and run.ended and not (seen and seen.ended):
            return run, await read_state(self, config)
        return run, snapshot

    def _caller(self, config: RunnableConfig) -> str:
        """Name who makes a call, for the records."""
        return "python"

    async def _resolve(self, config: RunnableConfig) -> None:
        """End the open run of a thread, if there is one: nothing more of it is done."""
        run = await self.stores.runs.latest(thread_of(config))
        if run is not None and not run.ended:
            await self.acancel(run.thread_id, self._caller(config))

    def _graph(self, input: object, config: RunnableConfig, **options: Any) -> AsyncGenerator[Any, None]:
        """Stream the graph behind the door."""
        return self.door.langsmith.within(super().astream(input, config, **options))

    def stream(self, input: object, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Stream a run from code without an event loop."""
        return self.loop.iterate(lambda: self.astream(input, config, **kwargs))

    async def ainvoke(self, input: object, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run to the end, to an interrupt or to a pause, as LangGraph does.

        The status is `interrupted` or `paused` then; of a paused run the answer says what it waits for.
        """
        return self._with_status(await super().ainvoke(input, config, **kwargs), config)

    def invoke(self, input: object, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run to the end, to an interrupt or to a pause from code without an event loop."""
        return self._with_status(super().invoke(input, config, **kwargs), config)

    def _with_status(self, output: object, config: RunnableConfig | None) -> object:
        thread = thread_of(surrounded(merge_configs(self.config, config)))
        return with_status(output, self.door.pauses.pop(thread, None))

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
        if supersteps == [[StateUpdate(None, END)]]:  # so the Agent Inbox marks a thread as resolved
            await self._resolve(newest)
            return (await read_state(self, newest)).config
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
        check_newest(merged, await read_state(self, newest))
        return newest

    def _resolve_checkpointer(self, config: RunnableConfig) -> BaseCheckpointSaver[Any] | None:
        """Fall back on the workspace's own store where no host brought a saver."""
        return super()._resolve_checkpointer(config) or self.door.stores.saver


def _node_by_node(config: RunnableConfig, options: Mapping[str, Any]) -> bool:
    """Say whether each node is to have a superstep of its own.

    A caller may stop at nodes, or have tasks or checkpoints streamed one by one; a graph of the user's own
    keeps them elsewhere.
    """
    modes = options.get("stream_mode")
    several = [modes] if isinstance(modes, str) else cast("Sequence[str]", modes or ())
    return _has_breakpoints(options) or nested(config) or not NODE_MODES.isdisjoint(several)


def _has_breakpoints(options: Mapping[str, Any]) -> bool:
    """Say whether a caller stops at nodes."""
    return bool(options.get("interrupt_before") or options.get("interrupt_after"))
