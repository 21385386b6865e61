"""The worker: takes up what is queued, a few runs at a time, until it is stopped.

It goes on with a run as anybody else does, by `astream(None, …)` under the run's lease, so workers, terminals
and programs never work on one run at the same time, and what one leaves another finishes.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque

from langchain_core.runnables import RunnableConfig

from planwright.domain.errors import LeaseLost, PlanwrightError, RunHeld, StoreFailed
from planwright.domain.run_context import RunContext
from planwright.extras.worker.pruning import Pruning
from planwright.extras.worker.schedules import Schedules
from planwright.extras.worker.watchdog import Watchdog
from planwright.graph.agent import Agent
from planwright.records.queue.queue import PROVIDER
from planwright.records.runs import Run
from planwright.telemetry.log_records import ids_of

CHANNEL = "worker"
DRAIN_LOOK_S = 0.1
UNWELL_S = 30.0
"""Seconds after which a worker that has not looked at its store is not well."""
AFTER_FAULT_S = 5.0
"""Seconds that a run is left alone which did not get on: it was held, its store failed, it broke off."""
LONGEST_AWAY_S = 60.0
"""Most seconds that a run whose provider is away is left alone."""
_LOG = logging.getLogger("planwright.sessions")


class Worker:
    """One process that goes on with sessions. `stop` may be called from a signal handler of its loop."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._stores = agent.stores
        self._seconds = agent.stores.time.timer.seconds
        self._settings = agent.door.settings.queue
        self._watchdog = Watchdog(agent)
        self._schedules = Schedules(agent)
        self._pruning = Pruning(self._stores, agent.door.settings.storage)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._not_before: dict[str, float] = {}
        self._away: dict[str, float] = {}  # seconds for which runs were left to their provider, by run
        self._stopped = asyncio.Event()
        self._ahead = deque[Run]()  # what the last look saw, and nobody has looked at since
        self._looked_s = self._seconds()
        self._name = ""  # in the table of workers; empty before it has joined

    @property
    def is_well(self) -> bool:
        """Whether it has looked at its store lately, and the store has answered."""
        return self._seconds() - self._looked_s < UNWELL_S + self._settings.look_s

    async def run(self, *, until_idle: bool = False) -> None:
        """Work until `stop`, or with `until_idle` until there is nothing to do; then hand over what runs.

        A store that fails is waited for; with `until_idle` StoreFailed is raised.
        """
        _LOG.info("worker begins, %d runs at once", self._settings.max_concurrent)
        try:
            while not self._stopped.is_set():
                try:
                    begun = await self._take_up()
                except StoreFailed as error:
                    if until_idle:
                        raise
                    _LOG.error("the store failed, nothing is taken up: %s", error.cause)
                    begun = False
                if until_idle and not begun and not self._tasks:
                    return
                await self._wait()
        finally:
            await self._drain()
            await self._pruning.stop()
            await self._leave()
            _LOG.info("worker ends")

    def stop(self) -> None:
        """Take up nothing more; what runs stops before its next superstep, and is queued for others."""
        self._stopped.set()

    async def _take_up(self) -> bool:
        """Take up as many runs as there is room for, and say whether there was one.

        One look at the store serves until all that it saw is taken or `queue.look_s` has gone by.
        """
        fresh = self._seconds() - self._looked_s < self._settings.look_s
        chosen = await self._choose() if fresh else []
        if not chosen:
            await self._look()
            chosen = await self._choose()
        for run in chosen:
            self._tasks[run.run_id] = asyncio.create_task(self._work(run), name=run.run_id)
        return bool(chosen)

    async def _look(self) -> None:
        """Look after what is there, and list what may go on."""
        if not self._name:
            self._name = await self._stores.workers.join(
                self._stores.time.now(), self._settings.max_concurrent
            )
        await self._schedules.queue_due()
        await self._watchdog.look(self._tasks)
        self._pruning.look()
        self._agent.notifier.look()
        self._ahead = deque(await self._stores.queue.runnable())
        self._looked_s = self._seconds()

    async def _leave(self) -> None:
        """Take it off the list of workers; where the store fails, the next one that joins does that."""
        try:
            await self._stores.workers.leave(self._name)
        except StoreFailed as error:
            _LOG.error("the store failed at the end: %s", error.cause)

    async def _choose(self) -> list[Run]:
        """Choose what nobody works on, as many as there is room for.

        What has changed since it was listed is left for the next look: somebody else was at it.
        """
        room, chosen = self._settings.max_concurrent - len(self._tasks), list[Run]()
        while self._ahead and len(chosen) < room:
            run = self._ahead.popleft()
            if run.run_id in self._tasks or self._rests(run):
                continue
            if await asyncio.to_thread(self._stores.leases.is_leased, run):  # it may ask a server
                continue
            if await self._stores.runs.read(run.run_id) != run:
                continue
            if run.status != "running" or await self._watchdog.goes_on(run):
                chosen.append(run)
        return chosen

    def _rests(self, run: Run) -> bool:
        return self._not_before.get(run.run_id, 0) > self._seconds()

    def _let_rest(self, run_id: str, seconds: float = AFTER_FAULT_S) -> None:
        now = self._seconds()
        resting = {id_: until for id_, until in self._not_before.items() if until > now}
        self._not_before = {**resting, run_id: now + seconds}

    async def _work(self, run: Run) -> None:
        """Go on with one run as far as it goes; what stops it is written down, and stops nothing else."""
        config: RunnableConfig = {"configurable": {"thread_id": run.thread_id}}
        context = RunContext(tenant=run.tenant, channel=CHANNEL)
        try:
            async for _ in self._agent.astream(None, config, context=context, stream_mode="custom"):
                pass
            self._wait_for_provider(run, await self._stores.runs.read(run.run_id))
        except (LeaseLost, RunHeld) as error:
            self._let_rest(run.run_id)
            _LOG.info("run %s: %s", run.run_id, error.cause, extra=ids_of(run))
        except StoreFailed as error:
            self._let_rest(run.run_id)
            _LOG.error("run %s: %s", run.run_id, error.cause, extra=ids_of(run))
        except PlanwrightError as error:  # one that waits is not paused, and would be taken up at once
            self._let_rest(run.run_id)
            _LOG.warning("run %s: %s", run.run_id, error.cause, extra=ids_of(run))
            await self._stores.sessions.pause_for(run, error.cause)

    def _wait_for_provider(self, run: Run, now: Run | None) -> None:
        """Leave a run whose provider is away alone for a while, twice as long each time."""
        if now is None or now.paused_for != PROVIDER:
            self._away.pop(run.run_id, None)
            return
        wait_s = min(2 * self._away.get(run.run_id, AFTER_FAULT_S / 2), LONGEST_AWAY_S)
        self._away[run.run_id] = wait_s
        self._let_rest(run.run_id, wait_s)

    async def _wait(self) -> None:
        """Wait until a run stands still, the worker is stopped, or it is time to look again."""
        stopped = asyncio.ensure_future(self._stopped.wait())
        waiting = {stopped, *self._tasks.values()}
        await asyncio.wait(waiting, timeout=self._settings.look_s, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        self._collect()

    def _collect(self) -> None:
        """Let go of the runs that stand still; a bug in one is logged, and counts as a break of it."""
        for run_id, task in list(self._tasks.items()):
            if task.done():
                del self._tasks[run_id]
                if not task.cancelled() and (error := task.exception()) is not None:
                    self._let_rest(run_id)
                    _LOG.error("run %s broke off", run_id, exc_info=error, extra={"run_id": run_id})

    async def _drain(self) -> None:
        """Stop what runs before its next superstep, and wait for what has begun."""
        while self._tasks:
            for invocation in list(self._agent.door.working.values()):
                if not invocation.control.drain_requested:
                    invocation.drain("its worker stops", queue_again=True)
            await asyncio.wait(self._tasks.values(), timeout=DRAIN_LOOK_S)
            self._collect()
