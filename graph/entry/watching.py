"""What others ask of a run is seen by the process that works on it: its end, a pause, more budget."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from planwright.domain.errors import LeaseLost, StoreFailed
from planwright.graph.entry.outputs import Standstill, standstill_of
from planwright.records.queue.progress import read_progress
from planwright.records.queue.sessions import pause_reason
from planwright.records.runs import Requests, Run
from planwright.records.stores import Stores
from planwright.settings.profile import RunProfile, with_more
from planwright.settings.workspace import SessionSettings
from planwright.state.invocation import Invocation
from planwright.telemetry.log_records import ids_of

LOOK_S = 1.0
_LOG = logging.getLogger("planwright.graph")


class Watching:
    """Look once a second at what is asked of a run while it is worked on."""

    def __init__(self, stores: Stores, settings: SessionSettings) -> None:
        self._stores = stores
        self._settings = settings

    def begin(self, invocation: Invocation, run: Run, profile: RunProfile) -> asyncio.Task[None]:
        """Watch a run beside it. Where that breaks, the run is drained: nobody could end it any more."""
        task = asyncio.create_task(self._watch(invocation, run, profile), name="watch")

        def end(done: asyncio.Task[None]) -> None:
            if not done.cancelled() and (error := done.exception()):
                _LOG.error("run %s is not watched: %s", run.run_id, error, exc_info=error, extra=ids_of(run))
                invocation.drain(f"nobody heeds what is asked of it: {error}")

        task.add_done_callback(end)
        return task

    async def _watch(self, invocation: Invocation, run: Run, profile: RunProfile) -> None:
        """Look until the end of the run is asked for, in this process or any other, or it is another's.

        `profile` is what is in force for it where nobody has given it more.
        """
        extended, progress_s = run.extended, invocation.seconds()
        while not invocation.cancelled_by:
            await asyncio.sleep(LOOK_S)
            with contextlib.suppress(StoreFailed):  # a write will meet it
                if invocation.profile.limits.wall_clock_s is not None:
                    self.keep_time(invocation)
                try:
                    requests = await self._stores.runs.requests(invocation.lease)
                except LeaseLost as lost:  # what it waits for happens elsewhere: it would wait for ever
                    invocation.drain(str(lost))
                    return
                self._heed(requests, invocation)
                if requests.extended != extended:
                    extended = requests.extended
                    invocation.profile = with_more(profile, extended)
                    invocation.record_event("session_extended", {"in_all": extended}, extended or "")
                if invocation.in_session and invocation.seconds() - progress_s >= self._settings.heartbeat_s:
                    progress_s = invocation.seconds()
                    await self._emit_progress(invocation)
            if invocation.control.drain_requested:  # by a program that has the control in its hands, too
                invocation.board.drain()

    async def _emit_progress(self, invocation: Invocation) -> None:
        """Tell how far a session is."""
        run_id, limits, now = invocation.run_id, invocation.profile.limits, self._stores.time.now()
        progress = await self._stores.database.read(lambda c: read_progress(c, run_id, limits, now))
        invocation.record_event("session_progress", progress.model_dump(mode="json"), progress.progress_id)

    def _heed(self, requests: Requests, invocation: Invocation) -> None:
        """End or drain a run that is to end, or to pause."""
        invocation.cancelled_by, invocation.ends_as = requests.cancelled_by, requests.ends_as
        if requests.pause_by and not invocation.control.drain_requested:
            invocation.drain(pause_reason(requests.pause_by))

    async def stand_still(self, invocation: Invocation) -> Standstill:
        """Queue a drained run again, pause it or put it down; nothing of it is being done. Returns why."""
        cause = invocation.control.drain_reason or "drained"
        if invocation.queued_again:
            await self._stores.runs.set_status(invocation.lease, "queued")
            return Standstill("paused", cause, cause)
        stands = await standstill_of(invocation, cause, self._stores)
        data = {"reason": stands.waits_for, **({"cause": stands.words} if stands.words != cause else {})}
        invocation.record_event("session_paused", data, str(invocation.lease.token))
        why = stands.words if invocation.put_down_by else ""
        await self._stores.runs.set_status(invocation.lease, stands.status, stands.waits_for, why)
        invocation.check_writes()
        _LOG.info("run %s stands still: %s", invocation.run_id, cause, extra=ids_of(invocation))
        return stands

    def keep_time(self, invocation: Invocation) -> None:
        """Write down how long the run is being worked on."""
        self._stores.work_times.keep(invocation.lease, invocation.elapsed_s)
