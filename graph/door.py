"""The door: every entry into the graph is checked here, whoever calls it and from where.

LangGraph starts a run on a resume of an unknown thread, restarts one on a new message over an
open interrupt, and ignores a well-formed wrong interrupt id (tests/scenarios/test_approval_bypass.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import messages_from_dict, messages_to_dict
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphInterrupt
from langgraph.types import Command, StateSnapshot

from planwright.approvals.decide import Answering
from planwright.approvals.review import Review
from planwright.checkpoints.runs import Run
from planwright.checkpoints.saver import LEASE_KEY
from planwright.checkpoints.stores import Stores
from planwright.domain.clock import Timer, timer_of
from planwright.domain.errors import GateError, RunError, StoreFailed
from planwright.domain.lease import Lease
from planwright.domain.run_context import RunContext, options_of, read_context
from planwright.graph.available_parts import AvailableParts
from planwright.graph.checks import (
    check_same_options,
    check_tenant,
    foreign,
    nested,
    not_begun,
    profile_of,
    read_messages,
    thread_of,
    to_be_closed,
    unfinished,
)
from planwright.graph.control import Control
from planwright.security.redaction.redactor import Redactor
from planwright.settings.profile import Profile
from planwright.settings.settings import Settings
from planwright.state.invocation import CONFIG_KEY, Clock, Invocation, utc_now
from planwright.state.step_board import StepBoard

LOOK_S = 1.0


@dataclass(frozen=True)
class AdmittedRun:
    """What goes into LangGraph once the door has let it pass."""

    input: Any
    config: RunnableConfig
    context: RunContext
    run: Run
    invocation: Invocation


class Door:
    """Admit new requests, answers and recoveries; hold the lease of a run while it is worked on."""

    def __init__(
        self,
        settings: Settings,
        stores: Stores,
        review: Review,
        clock: Clock = utc_now,
        redactor: Redactor | None = None,
        *,
        available_parts: AvailableParts,
        timer: Timer | None = None,
    ) -> None:
        self.settings = settings
        self.stores = stores
        self.answering = Answering(stores, review, clock)
        self.control = Control(stores, clock)
        self.redactor = redactor or Redactor()
        self._clock = clock
        self._timer = timer or timer_of(clock)
        self._parts = available_parts

    @contextlib.asynccontextmanager
    async def enter(
        self,
        entry: Any,
        config: RunnableConfig,
        context: Any,
        snapshot: StateSnapshot,
        *,
        breakpoints: bool = False,
    ) -> AsyncIterator[AdmittedRun]:
        """Check an entry, take the run's lease, and keep it until the invocation ends.

        With `breakpoints` (LangGraph's `interrupt_before` and `_after`) it may end anywhere.
        Raises SetupError, RunError or GateError; then nothing has changed.
        """
        thread_id = thread_of(config)
        run, fresh = await self._run_for(entry, thread_id, context)
        channel = read_context(context or run.context).channel
        profile = profile_of(run, fresh, self.settings)
        lease = await self.stores.leases.take(run, self.settings.sessions.lease_s)
        watching: asyncio.Task[None] | None = None
        reason = ""
        try:
            await self.stores.saver.fence(lease)
            if fresh:
                await self._parts.begin(lease, self.stores.own_parts)
            entered = await self._admit(entry, run, fresh, config, snapshot, lease, channel, profile)
            watching = asyncio.create_task(self._watch(entered.invocation))
            try:
                yield entered
            except GraphInterrupt:  # inside a graph of the user's own it goes on to that graph
                await self._leave(entered, breakpoints)
                raise
            await self._leave(entered, breakpoints)
        except StoreFailed as error:
            reason = "storage"
            raise _paused(error, run) from error
        finally:
            if watching is not None:
                watching.cancel()
                self._keep_time(entered.invocation)
            await self.stores.leases.release(lease, reason)
            self.stores.journal.forget(lease)

    async def check_tenant(self, thread_id: str, context: Any) -> None:
        """Raise RunError when a thread belongs to another tenant than the caller's."""
        check_tenant(await self.stores.runs.latest(thread_id), context)

    async def ended(self, thread_id: str, snapshot: StateSnapshot) -> bool:
        """Say whether a thread's newest run has ended and nothing of it is left to write.

        Raises RunError when its state was changed so that it would run on.
        """
        run = await self.stores.runs.latest(thread_id)
        if run is None or not run.ended or to_be_closed(run, snapshot):
            return False
        if snapshot.next:
            raise RunError(
                f"run {run.run_id} has ended ({run.status}); its state was changed since",
                "begin a new run on this thread, or a new thread; after a restore: planwright db check",
            )
        return True

    async def answer_not_written(self, thread_id: str, snapshot: StateSnapshot) -> bool:
        """Say whether the newest run has ended before its answer reached the thread.

        A run that begins on top of it would be closed with that answer if it died early, too.
        """
        run = await self.stores.runs.latest(thread_id)
        return run is not None and to_be_closed(run, snapshot)

    async def cancels_previous_run(self, entry: Any, thread_id: str, context: Any) -> bool:
        """Say whether a new message cancels the run before it (`threads.new_input = cancel`).

        Raises SetupError for a message that cannot begin a run: it cancels nothing.
        """
        if entry is None or isinstance(entry, Command) or self.settings.threads.new_input != "cancel":
            return False
        run = await self.stores.runs.latest(thread_id)
        if run is None or run.ended:
            return False
        self._new_run(entry, thread_id, context)
        return True

    async def _run_for(self, entry: Any, thread_id: str, context: Any) -> tuple[Run, bool]:
        run = await self.stores.runs.latest(thread_id)
        check_tenant(run, context)
        if entry is None or isinstance(entry, Command):
            if isinstance(entry, Command) and (entry.goto or entry.update or entry.resume is None):
                raise GateError(
                    "a Command may only resume: goto and update would go around the gates",
                    'send Command(resume={"decisions": [{"type": "approve"}]})',
                )
            if run is None:
                raise RunError(f"there is no thread {thread_id}", "list the threads: planwright ls")
            check_same_options(context, run)
            return run, False
        gates = await self.stores.gates.of_thread(thread_id)
        if run is not None and not run.ended:
            raise unfinished(run, gates)
        return self._new_run(entry, thread_id, context), True

    def _new_run(self, entry: Any, thread_id: str, context: Any) -> Run:
        messages = read_messages(entry)
        chosen = read_context(context)
        return Run(
            run_id=f"run_{uuid.uuid4().hex[:16]}",
            thread_id=thread_id,
            tenant=chosen.tenant,
            status="running",
            request=self.redactor.text(messages[-1].text),
            messages=self.redactor.value(messages_to_dict(messages)),
            context=options_of(chosen),
            started_at=self._clock().isoformat(),
        )

    async def _watch(self, invocation: Invocation) -> None:
        """Notice that somebody, in any process, cancelled the run."""
        while not invocation.cancelled_by:
            await asyncio.sleep(LOOK_S)
            if invocation.profile.limits.wall_clock_s is not None:
                self._keep_time(invocation)
            with contextlib.suppress(StoreFailed):  # a write will meet it
                invocation.cancelled_by = await self.stores.runs.cancelled_by(invocation.run_id)

    def _keep_time(self, invocation: Invocation) -> None:
        self.stores.work_times.keep(invocation.lease, invocation.elapsed_s)

    async def stopping(self, entry: AdmittedRun) -> bool:
        """Say whether a cancelled run still has to be led to its end: its gates have closed."""
        run = await self.stores.runs.read(entry.run.run_id)
        return run is not None and not run.ended and run.cancelled_by is not None

    async def _admit(
        self,
        entry: Any,
        run: Run,
        fresh: bool,
        config: RunnableConfig,
        snapshot: StateSnapshot,
        lease: Lease,
        channel: str,
        profile: Profile,
    ) -> AdmittedRun:
        passed: Any = None
        if isinstance(entry, Command):
            passed = await self.answering.resume(entry.resume, run, snapshot, channel)
        if not fresh:
            await self._parts.check(run, self.stores.own_parts, decided=isinstance(entry, Command))
        if passed is None and (fresh or not_begun(run, snapshot)):
            passed = {"messages": messages_from_dict(run.messages)}
        if not fresh:
            await self.stores.gates.expire(lease, self._clock())
            await self.stores.runs.set_status(lease, "running")
        context = read_context(run.context)
        invocation = Invocation(
            lease=lease,
            context=context,
            profile=profile,
            board=StepBoard(
                await self.stores.ledger.settled_steps(run.run_id), self.settings.execution.max_parallel_steps
            ),
            record=lambda event, key: self.stores.journal.append(event, key, lease),
            request=run.request,
            words=await self.stores.runs.words_of(run.thread_id),
            foreign=foreign(run.messages),
            clock=self._clock,
            seconds=self._timer.seconds,
            cancelled_by=run.cancelled_by or "",
            seq=itertools.count(await self.stores.journal.last_seq(run.run_id) + 1),
            emitted_keys=await self.stores.journal.keys(run.run_id),
            worked_before_s=await self.stores.work_times.of(run.run_id),
            redactor=self.redactor,
        )
        if nested(config):
            invocation.answered = lambda gate, answer: self.answering.inside(gate, answer, snapshot, channel)
        configurable = {**config.get("configurable", {}), CONFIG_KEY: invocation, LEASE_KEY: lease}
        return AdmittedRun(passed, {**config, "configurable": configurable}, context, run, invocation)

    async def _leave(self, entry: AdmittedRun, breakpoints: bool) -> None:
        """Note that a run waits; one that neither waits nor ended is a bug of ours."""
        run = entry.run
        now = await self.stores.runs.read(run.run_id)  # the next of its thread may have begun by now
        if now is None or now.ended or now.cancelled_by:
            return
        gates = await self.stores.gates.of_thread(run.thread_id)
        if not gates:
            if breakpoints:
                return  # `invoke(None)` goes on
            await self.stores.leases.check(entry.invocation.lease)
            raise RunError(
                f"run {run.run_id} stopped with open steps and no open gate: this is a bug",
                f"nothing is lost; try: planwright resume {run.thread_id}",
            )
        await self.stores.runs.set_status(entry.invocation.lease, "waiting")


@contextlib.contextmanager
def naming_next_step(thread_id: str) -> Iterator[None]:
    """Say of a fault of the store that came before a run was entered, how to go on: nothing was done."""
    try:
        yield
    except StoreFailed as error:
        if thread_id in error.next_step:
            raise
        again = f"then say it again; what waits there: planwright resume {thread_id}"
        raise StoreFailed(f"{error.cause}; nothing was done", f"{error.next_step}; {again}") from error


def _paused(error: StoreFailed, run: Run) -> StoreFailed:
    """Say of a fault of the store what becomes of the run that met it."""
    going_on = f"then go on, nothing is done twice: planwright resume {run.thread_id}"
    return StoreFailed(f"{error.cause}; run {run.run_id} is paused", f"{error.next_step}; {going_on}")
