"""What can be done with the runs of an agent beside invoking it: cancel, fork, undo, call, decide …"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any

from langchain_core.runnables import RunnableConfig
from pydantic import JsonValue
from typing_extensions import Unpack

from planwright.approvals.bulk import BulkApprovals, BulkOptions
from planwright.approvals.bulk_outcomes import BulkApproval
from planwright.approvals.notices.notifier import Notifier
from planwright.capabilities.tools.tool_servers import ToolServers
from planwright.domain.errors import RunHeld
from planwright.domain.run_context import read_context
from planwright.graph.entry.background import EnqueueOptions, enqueue
from planwright.graph.entry.checks import check_tenant, read_state, thread_of
from planwright.graph.entry.door import Door
from planwright.graph.entry.single_call import SingleCalls
from planwright.graph.entry.sync_loop import BackgroundLoop
from planwright.graph.entry.undo import Undoing
from planwright.graph.forks.fork import Forking, ForkOptions, NewRunOptions, Point
from planwright.graph.forks.rewind import Rewinding
from planwright.graph.wiring import Compiled
from planwright.models.providers.router import Router
from planwright.records.extensions import Unit
from planwright.records.stores import Stores


class RunActions(Compiled):
    """A compiled graph with its door and its stores, and what is done with its runs from outside."""

    def __init__(
        self,
        *,
        door: Door,
        loop: BackgroundLoop,
        router: Router,
        servers: ToolServers,
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

    @property
    def notifier(self) -> Notifier:
        """Who tells people what waits for them."""
        return self.door.notifier

    async def atake_over(self, thread_id: str) -> str:
        """Take a thread's run from the process that holds it, and name that; go on with `invoke(None, …)`.

        What that was sending it may still send: it is in doubt until that process has ended. Raises RunError.
        """
        return await self.door.control.take_over(thread_id)

    def take_over(self, thread_id: str) -> str:
        """Take a run over from code without an event loop."""
        return self.loop.call(lambda: self.atake_over(thread_id))

    async def amigrate(self, thread_id: str, snapshot: str | None = None, by: str = "python") -> list[str]:
        """Let a waiting run go on with settings, policy, capabilities and prompts as they are now.

        Returns what differs from what it began with. `snapshot` is the id of the data that it works on from
        now on; None leaves it. Raises RunError for no run, and for one that has ended or is worked on.
        """
        return await self.door.migrate(thread_id, snapshot, by)

    def migrate(self, thread_id: str, snapshot: str | None = None, by: str = "python") -> list[str]:
        """Let a run go on with what is here now, from code without an event loop."""
        return self.loop.call(lambda: self.amigrate(thread_id, snapshot, by))

    async def aenqueue(self, request: str, **options: Unpack[EnqueueOptions]) -> RunnableConfig:
        """Queue a run for a worker (`planwright worker`) to take up, and return its config.

        Raises QueueFull where as many wait as may, RunError where a run of the thread is open, SetupError for
        a request that cannot begin one.
        """
        thread_id = options.get("thread_id") or str(uuid.uuid4())
        config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
        if await self.door.arrivals.answer_not_written(thread_id, await read_state(self, config)):
            await self.ainvoke(None, config)
        await enqueue(self.door, request, thread_id, options)
        return config

    def enqueue(self, request: str, **options: Unpack[EnqueueOptions]) -> RunnableConfig:
        """Queue a run from code without an event loop."""
        return self.loop.call(lambda: self.aenqueue(request, **options))

    async def apause(self, thread_id: str, by: str = "python") -> bool:
        """Pause a thread's run: what has begun is finished, nothing more begins. `invoke(None, …)` goes on.

        Returns whether it is paused; else who works on it pauses it in a moment. Raises RunError for no run,
        and for one that is paused, waits for a person, or has ended.
        """
        run = await self.stores.sessions.pause(thread_id, by)
        return run.status == "paused"

    def pause(self, thread_id: str, by: str = "python") -> bool:
        """Pause a run from code without an event loop."""
        return self.loop.call(lambda: self.apause(thread_id, by))

    async def aextend(self, thread_id: str, amounts: Mapping[Unit, float], by: str = "python") -> None:
        """Give a run more than its limits: `{"tokens": 50_000}`; `ttl_s` lets a session expire later.

        Raises RunError for no run, and for one that has ended.
        """
        await self.stores.sessions.extend(thread_id, amounts, by)

    def extend(self, thread_id: str, amounts: Mapping[Unit, float], by: str = "python") -> None:
        """Give a run more from code without an event loop."""
        self.loop.call(lambda: self.aextend(thread_id, amounts, by))

    async def acancel(self, thread_id: str, by: str = "python") -> bool:
        """Cancel a thread's run: running calls finish, the rest is skipped, the thread stays usable.

        Returns whether it has ended; else who works on it ends it in a moment. Raises RunError for no run.
        """
        await self.door.control.cancel(thread_id, by)
        while await self.door.control.wait_until_unleased(thread_id):
            with suppress(RunHeld):  # an answer came in between: it is waited for once more
                await self.ainvoke(None, {"configurable": {"thread_id": thread_id}})
                break
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
        Of `context`, `channel` and `gate_ttl_s` count. Raises RunError for what cannot be forked, and for a
        run of another tenant than the context names.
        """
        name = source if isinstance(source, str) else thread_of(source)
        if not isinstance(source, str):
            checkpoint_id = checkpoint_id or source["configurable"].get("checkpoint_id")
        again = [rerun] if isinstance(rerun, str) else list(rerun)
        check_tenant(await self.stores.forks.run_named(name), context)
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
        what that builds on. Of `context`, `channel` and `gate_ttl_s` count. Raises RunError, also for a run
        of another tenant than the context names.
        """
        check_tenant(await self.stores.forks.run_named(source), options.get("context"))
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
        return await BulkApprovals(self, self.door.stores).approve_all(capability, options)

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

    @property
    def _rewinding(self) -> Rewinding:
        return Rewinding(self, self.door.stores, self.door.arrivals)

    @property
    def _forking(self) -> Forking:
        return Forking(self, self.door.stores)
