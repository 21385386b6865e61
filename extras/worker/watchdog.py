"""The watchdog: sessions whose time is up, whose worker gives no sign of life, or has died too often."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Container
from contextlib import suppress

from planwright.domain.errors import RunError
from planwright.domain.results import RunStatus
from planwright.graph.agent import Agent
from planwright.records.ownership.cancelling import cancel
from planwright.records.queue.queue import END_OF_TIME
from planwright.records.runs import Run
from planwright.telemetry.log_records import ids_of

_LOG = logging.getLogger("planwright.sessions")


class Watchdog:
    """Looks after the sessions of a store; each of its looks may be made by several workers at once."""

    def __init__(self, agent: Agent) -> None:
        self._stores, self._clock = agent.stores, agent.stores.time.now
        self._settings = agent.door.settings
        self._working = agent.door.working

    async def look(self, mine: Container[str]) -> None:
        """End what has had its time, and free what is held by a process that gives no sign of life.

        `mine` are the runs that this worker is at.
        """
        for run in await self._stores.queue.expired():
            await self._end(run, END_OF_TIME, "expired")
        most_s = self._settings.queue.max_execution_time_s
        for run_id, invocation in list(self._working.items()):
            if invocation.worked_s > most_s and not invocation.cancelled_by:
                by = "the limit queue.max_execution_time_s"
                with suppress(RunError):  # it has ended in this moment
                    await self._stores.runs.cancel(run_id, by, self._clock(), "timeout")
        for run in await self._stores.queue.runnable():
            if run.run_id in mine or not run.lease_until:
                continue
            if await asyncio.to_thread(self._stores.leases.is_silent, run):  # it may ask a server
                await self._free(run)

    async def goes_on(self, run: Run) -> bool:
        """Say whether a run goes on whose worker has died, and count that; else it is paused or ended."""
        settings = self._settings.sessions
        breaks = await self._stores.queue.count_break(run)
        if run.cancelled_by is not None:
            return True
        if settings.on_crash == "fail":
            await self._end(run, "the death of its worker (sessions.on_crash)", "failed")
            return False
        if breaks > settings.most_breaks:
            reason = f"it broke off {breaks} times (sessions.most_breaks)"
            await self._stores.sessions.pause_for(run, reason)
            _LOG.error("run %s is paused: %s", run.run_id, reason, extra=ids_of(run))
            return False
        return True

    async def _end(self, run: Run, by: str, ends_as: RunStatus) -> None:
        """Ask for the end of a run; one that nobody works on ends here, if no effect of it is under way."""
        try:
            if await asyncio.to_thread(self._stores.leases.is_leased, run):
                await self._stores.runs.cancel(run.run_id, by, self._clock(), ends_as)
            else:
                await cancel(self._stores, run.run_id, by, ends_as)
        except RunError:  # it has ended in this moment
            return
        _LOG.warning("run %s is to end as %s: %s", run.run_id, ends_as, by, extra=ids_of(run))

    async def _free(self, run: Run) -> None:
        """Take a run from a process that lives and does not report."""
        try:
            holder, _ = await self._stores.leases.take_over(run)
        except RunError:  # it has ended in this moment
            return
        if self._settings.sessions.on_silence == "pause":
            reason = f"no sign of life from {holder}"
            await self._stores.sessions.pause_for(run, reason)
