"""The door: every entry into the graph is checked here, whoever calls it and from where.

LangGraph starts a run on a resume of an unknown thread, restarts one on a new message over an
open interrupt, and ignores a well-formed wrong interrupt id (tests/scenarios/test_approval_bypass.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from langchain_core.messages import BaseMessage, messages_from_dict
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphDrained, GraphInterrupt
from langgraph.runtime import RunControl
from langgraph.types import Command

from planwright.approvals.decide import Answering, Offered
from planwright.approvals.limit_gate import LimitGates
from planwright.approvals.notices.notifier import Notifier
from planwright.approvals.review import Reviewer
from planwright.checkpoints.saver import LEASE_KEY, PAID_KEY
from planwright.domain.errors import RunError, StoreFailed
from planwright.domain.lease import Lease
from planwright.domain.run_context import RunContext, read_context
from planwright.execution.versions import RunVersions, note
from planwright.graph.available_parts import AvailableParts
from planwright.graph.entry.arrivals import Arrival, Arrivals
from planwright.graph.entry.checks import answered_by_id, nested, not_begun, profile_of
from planwright.graph.entry.control import Control
from planwright.graph.entry.fence_key import keep_fences
from planwright.graph.entry.outputs import Standstill, paused_by_store
from planwright.graph.entry.watching import Watching
from planwright.records.audit.anchor import publish_head
from planwright.records.runs import Run
from planwright.records.stores import Stores
from planwright.security.redaction.redactor import Redactor
from planwright.settings.profile import RunProfile, with_more
from planwright.settings.settings import Settings
from planwright.state.agent_state import ModelRoute
from planwright.state.invocation import CONFIG_KEY, Invocation
from planwright.state.step_board import StepBoard
from planwright.telemetry.langsmith_runs import LangSmithRuns
from planwright.telemetry.log_records import ids_of, log_event
from planwright.telemetry.spans import open_spans

_LOG = logging.getLogger("planwright.graph")
GraphInput = Command[str] | dict[str, list[BaseMessage]]


@dataclass(frozen=True)
class AdmittedRun:
    """What goes into LangGraph once the door has let it pass."""

    input: GraphInput | None
    """Messages of a run that begins, a Command that resumes gates, or None to go on."""
    config: RunnableConfig
    """Config of the call, with the invocation and the lease in it."""
    context: RunContext
    """Options that the run began with."""
    run: Run
    """The run as its row says."""
    invocation: Invocation
    """What the nodes of this call share."""
    base: str | None = None
    """Id of the older checkpoint that the run begins at; None for the newest of its thread."""

    @property
    def start(self) -> RunnableConfig:
        """The config that LangGraph is entered with first."""
        if self.base is None:
            return self.config
        return {**self.config, "configurable": {**self.config["configurable"], "checkpoint_id": self.base}}


class Door:
    """Admit new requests, answers and recoveries; hold the lease of a run while it is worked on."""

    def __init__(
        self,
        settings: Settings,
        stores: Stores,
        reviewer: Reviewer,
        parts: AvailableParts,
        redactor: Redactor,
        check_models: Callable[[ModelRoute], None],
    ) -> None:
        self.settings, self.stores, self.redactor = settings, stores, redactor
        self.langsmith = LangSmithRuns(settings.tracing, redactor)
        self.arrivals = Arrivals(settings, stores, redactor)
        self.answering, self.notifier = Answering(stores, reviewer), Notifier(settings, stores, redactor)
        self.control, self.clock = Control(stores), stores.time.now
        self.versions = RunVersions(stores.database, parts.versions, settings.sessions.on_change)
        self._watching, self._limits = Watching(stores, settings.sessions), LimitGates(stores, settings)
        self.working: dict[str, Invocation] = {}
        self._fences_kept = False
        self.pauses: dict[str, Standstill] = {}  # why runs that it left stand still, by thread; told once
        self.parts, self._check_models = parts, check_models

    @contextlib.asynccontextmanager
    async def enter(
        self, arrival: Arrival, *, breakpoints: bool = False, control: RunControl | None = None
    ) -> AsyncIterator[AdmittedRun]:
        """Check an arrival, take the run's lease, and keep it until the invocation ends.

        With `breakpoints` (LangGraph's `interrupt_before` and `_after`) it may end anywhere; by a `control`
        the caller can drain it. Raises SetupError, RunError or GateError; then nothing has changed.
        """
        await self.stores.time.look()
        run, fresh = await self.arrivals.run_for(arrival)
        profile = profile_of(run, fresh, self.settings)
        change = None if fresh else await self.versions.check(run, profile, read_context(arrival.context))
        seen_token = None if fresh else arrival.seen_token
        lease = await self.stores.leases.take(run, self.settings.sessions.lease_s, seen_token)
        watching: asyncio.Task[None] | None = None
        reason = ""
        try:
            if fresh:
                self._fences_kept = self._fences_kept or keep_fences(self.settings.store_folder, begins=True)
                await self.parts.begin(lease, self.stores.own_parts)
            admitted = await self._admit(arrival, run, lease, profile, fresh=fresh)
            if change is not None:
                note(admitted.invocation, change)
            admitted.invocation.control = control or admitted.invocation.control
            self.working[run.run_id] = admitted.invocation
            watching = self._watching.begin(admitted.invocation, run, profile)
            try:
                with admitted.invocation.spans.run():
                    yield admitted
            except (GraphInterrupt, GraphDrained):  # a graph of the user's own hears of it, too
                await self._leave(admitted, breakpoints)
                raise
            await self._leave(admitted, breakpoints)
        except StoreFailed as error:
            reason = "storage"
            _LOG.error("run %s is paused: the store failed", run.run_id, extra=ids_of(run))
            raise paused_by_store(error, run) from error
        finally:
            if watching is not None:
                watching.cancel()
                del self.working[run.run_id]
                self._watching.keep_time(admitted.invocation)
            await self.stores.leases.release(lease, reason)
        if self.settings.audit.anchors:
            await asyncio.to_thread(publish_head, self.stores.database, self.settings.audit)

    async def _admit(
        self, arrival: Arrival, run: Run, lease: Lease, profile: RunProfile, *, fresh: bool
    ) -> AdmittedRun:
        """Put what the arrival answers on record, and make the input and the invocation of its run."""
        entry, snapshot = arrival.entry, arrival.snapshot
        channel = read_context(arrival.context or run.context).channel
        input_: GraphInput | None = None
        if (route := snapshot.values.get("route")) and not (fresh or run.ended or run.cancelled_by):
            self._check_models(route)
        if isinstance(entry, Command):
            input_ = await self.answering.resume(entry.resume, run, snapshot, channel)
        if not fresh:
            await self.parts.check(run, self.stores.own_parts, decided=isinstance(entry, Command))
        if input_ is None and (fresh or not_begun(run, snapshot)):
            input_ = {"messages": messages_from_dict(run.messages)}
        if not fresh:
            await self.stores.gates.expire(lease, self.clock())
            await self.stores.runs.set_status(lease, "running")
            _LOG.info("run %s goes on, lease %d", run.run_id, lease.token, extra=ids_of(run))
        invocation = await self._invocation(run, lease, profile, snapshot.values.get("messages", ()))
        if invocation.in_session:
            invocation.record_event("task_started", {"channel": channel}, "task")
        if nested(arrival.config):
            gates = await self.stores.gates.of_thread(run.thread_id)
            offered = Offered(frozenset(gate.gate_id for gate in gates), answered_by_id(arrival.config))
            invocation.answered = partial(self.answering.inside, snapshot, channel, offered)
            invocation.land = partial(self.stores.saver.landed, lease)
        ours = {CONFIG_KEY: invocation, LEASE_KEY: lease, PAID_KEY: invocation.paid}
        configurable = {**arrival.config.get("configurable", {}), **ours}
        config: RunnableConfig = {**arrival.config, "configurable": configurable}
        base = await self.stores.forks.base_of(run) if isinstance(input_, dict) and not fresh else None
        return AdmittedRun(input_, config, invocation.context, run, invocation, base)

    async def _invocation(
        self, run: Run, lease: Lease, profile: RunProfile, messages: Sequence[BaseMessage] = ()
    ) -> Invocation:
        """Make what the nodes of one call share, from what is on record of the run and its thread."""
        stores, spans = self.stores, open_spans(lease, profile.agent)
        steps, words, foreign, last_seq, keys, worked_s = await asyncio.gather(
            stores.ledger.settled_steps(run.run_id),
            stores.runs.words_of(run.thread_id),
            self.arrivals.after_foreign_text(run, messages),
            stores.journal.last_seq(run.run_id),
            stores.journal.keys(run.run_id),
            stores.work_times.of(run.run_id),
        )
        return Invocation(
            lease=lease,
            context=read_context(run.context),
            profile=with_more(profile, run.extended),
            board=StepBoard(steps, self.settings.execution.max_parallel_steps),
            record=lambda event, key: stores.journal.append(event, key, lease),
            request=run.request,
            words=words,
            foreign=foreign,
            clock=self.clock,
            seconds=stores.time.timer.seconds,
            cancelled_by=run.cancelled_by or "",
            ends_as=run.ends_as or "cancelled",
            seq=itertools.count(last_seq + 1),
            emitted_keys=keys,
            worked_before_s=worked_s,
            redactor=self.redactor,
            listeners=(log_event, spans.hear) if spans.on else (log_event,),
            spans=spans,
            more_of=partial(self._limits.more_of, profile),
        )

    async def migrate(self, thread_id: str, snapshot: str | None, by: str) -> list[str]:
        """Put on record that a run goes on with what is here now; return what differs from before.

        Raises RunError for a thread without a run, for a run that has ended, and for one that is worked on.
        """
        run = await self.stores.runs.latest(thread_id)
        if run is None or run.ended:
            raise RunError(f"there is no open run on thread {thread_id}", "list them: planwright ls")
        profile = profile_of(run, False, self.settings)
        change = await self.versions.change(run, profile, snapshot)
        lease = await self.stores.leases.take(run, self.settings.sessions.lease_s)
        try:
            note(await self._invocation(run, lease, profile), change, by)
        finally:
            await self.stores.leases.release(lease)
        return change.parts

    @contextlib.asynccontextmanager
    async def telling_faults(self, entry: object, thread_id: str) -> AsyncIterator[None]:
        """Let no error out with a secret in it, and say of a fault of the store how to go on.

        It came before a run was entered, so nothing was done.
        """
        with self.redactor.errors():
            try:
                yield
            except StoreFailed as error:
                if thread_id in error.next_step:
                    raise
                step = f"{error.next_step}; {await self._again(entry, thread_id)}"
                raise type(error)(f"{error.cause}; nothing was done", step) from error

    async def _again(self, entry: object, thread_id: str) -> str:
        """Say how an entry is made again that has met a fault of the store."""
        waits = f"then say it again; what waits there: planwright resume {thread_id}"
        if entry is None or isinstance(entry, Command):
            return waits
        try:
            run = await self.stores.runs.latest(thread_id)
        except StoreFailed:
            return "then run it again; what is on record: planwright ls"
        return waits if run and not run.ended else "then run it again: it is not on record"

    async def _close(self, lease: Lease, *, ended: bool) -> None:
        """Wait for what was written; remove the checkpoints that an ended run needs no more."""
        saver = self.stores.saver
        if ended:
            saver.close_run(lease, self.settings.storage.checkpoints_of(lease.tenant))
        else:
            await saver.landed(lease)

    async def stopping(self, admitted: AdmittedRun) -> bool:
        """Say whether a cancelled run still has to be led to its end: its gates have closed."""
        run = await self.stores.runs.read(admitted.run.run_id)
        return run is not None and not run.ended and run.cancelled_by is not None

    async def _leave(self, admitted: AdmittedRun, breakpoints: bool) -> None:
        """Note that a run waits; one that neither waits nor ended is a bug of ours."""
        run = admitted.run
        now = await self.stores.runs.read(run.run_id)  # the next of its thread may have begun by now
        admitted.invocation.check_writes()
        if now is None or now.ended or now.cancelled_by:
            await self._close(admitted.invocation.lease, ended=now is not None and now.ended)
            return
        gates = await self.stores.gates.of_thread(run.thread_id)
        if not gates and admitted.invocation.control.drain_requested:
            self.pauses[run.thread_id] = await self._watching.stand_still(admitted.invocation)
            return
        if not gates:
            if breakpoints:
                return  # `invoke(None)` goes on
            await self.stores.leases.check(admitted.invocation.lease)
            raise RunError(
                f"run {run.run_id} stopped with open steps and no open gate: this is a bug",
                f"nothing is lost; try: planwright resume {run.thread_id}",
            )
        await self.stores.runs.set_status(admitted.invocation.lease, "waiting")
        admitted.invocation.check_writes()
        self.answering.shown_gates.show(run.run_id, ids := [gate.gate_id for gate in gates])
        _LOG.info("run %s waits at %s", run.run_id, ", ".join(ids), extra=ids_of(run))
