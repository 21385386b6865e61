"""Schedules: requests that are queued at times, one run of each at a time."""

from __future__ import annotations

import logging
from datetime import datetime

from planwright.domain.errors import QueueFull, RunError, SetupError
from planwright.domain.run_context import RunContext
from planwright.graph.agent import Agent
from planwright.records.queue.schedule_runs import ScheduledTime
from planwright.settings.workspace import ScheduleSettings

_LOG = logging.getLogger("planwright.sessions")


class Schedules:
    """The schedules of a workspace. Any number of workers may keep them: each time is taken once."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._schedules = agent.door.settings.schedules
        self._since = agent.stores.time.now()
        self._newest: dict[str, datetime] = {}
        self._looked_at: datetime | None = None

    async def queue_due(self) -> None:
        """Queue what is due now.

        Of the times that came while no worker was there only the newest is made up for, and none from
        before a schedule was first kept. Where the time of the store is set back, it goes on from there.
        """
        now = (await self._agent.stores.time.look()).now
        if (minute := now.replace(second=0, microsecond=0)) == self._looked_at:
            return  # no schedule has two times in one
        self._since = min(self._since, now)
        for name, schedule in self._schedules.items():
            due, newest = schedule.newest_before(now), self._newest.get(name)
            if due is None or due == newest:
                continue
            if newest is not None and due < newest:
                _LOG.warning(
                    "schedule %s was kept up to %s by a clock that was wrong; it goes on from %s",
                    *(name, newest.isoformat(), now.isoformat(timespec="seconds")),
                )
            await self._queue(name, schedule, due)
            self._newest[name] = due
        self._looked_at = minute

    async def _queue(self, name: str, schedule: ScheduleSettings, due: datetime) -> None:
        times, time = self._agent.stores.schedule_runs, ScheduledTime(name, due)
        if not await times.is_free(time, schedule.tenant, kept_before=due <= self._since):
            return
        context = RunContext(
            agent=schedule.agent,
            planning_mode=schedule.planning,
            tenant=schedule.tenant,
            channel="schedule",
            requested_by=f"schedule {name}",
        )
        try:
            await self._agent.aenqueue(schedule.request, context=context, ttl_s=schedule.ttl_s, schedule=time)
        except (QueueFull, SetupError) as error:
            _LOG.error("schedule %s at %s is left out: %s", name, due.isoformat(), error.cause)
            await times.leave_out(time, schedule.tenant)
        except RunError as error:
            _LOG.info("schedule %s: %s", name, error.cause)
