"""Control over a run from outside of it: end it, or take it from the process that works on it."""

from __future__ import annotations

from functools import partial

from planwright.domain.errors import RunError
from planwright.records.stores import Stores


class Control:
    """Reach the newest run of a thread, whichever process works on it."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    async def refuse_busy(self, thread_id: str) -> None:
        """Raise RunError while a process works on a thread: it would write over what is changed beside it."""
        run = await self._stores.runs.latest(thread_id)
        if run is not None and self._stores.leases.is_leased(run):
            raise RunError(
                f"run {run.run_id} is being worked on: the state of its thread is not to be changed now",
                f"wait for it, or: planwright cancel {thread_id}",
            )

    async def cancel(self, thread_id: str, by: str) -> None:
        """Ask for the end of a thread's run. Raises RunError when there is nothing to cancel."""
        run = await self._stores.runs.latest(thread_id)
        if run is None:
            raise RunError(f"there is no thread {thread_id}", "list the threads: planwright ls")
        await self._stores.runs.cancel(run.run_id, by, self._stores.time.now())

    async def take_over(self, thread_id: str) -> str:
        """Take a thread's run from the process that holds it; return which that was, empty when none did.

        Raises RunError for a thread that there is not, or whose run has ended.
        """
        run = await self._stores.runs.latest(thread_id)
        if run is None:
            raise RunError(f"there is no thread {thread_id}", "list the threads: planwright ls")
        holder, _ = await self._stores.leases.take_over(run)
        return holder

    async def wait_until_unleased(self, thread_id: str) -> bool:
        """Wait a while for whoever works on a run; say whether it is not ended and nobody does."""
        run, free = await self._stores.leases.wait_until_free(partial(self._stores.runs.latest, thread_id))
        return free and run is not None and not run.ended

    async def has_ended(self, thread_id: str) -> bool:
        """Say whether a thread's newest run has ended."""
        run = await self._stores.runs.latest(thread_id)
        return run is not None and run.ended
