"""Leases: a run is worked on by one process at a time.

The row of a run names its owner, the fencing token, and until when the owner has promised to report: in
seconds of the monotonic clock, which all processes of one kernel share and nobody can set, or, where they
may be on several machines, in those that the store counts.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from planwright.domain.errors import PlanwrightError, RunError, RunHeld, StoreFailed
from planwright.domain.lease import Lease
from planwright.records.budget_usage import settle_in_full
from planwright.records.history.interrupted import RunLease
from planwright.records.runs import Run, begin_run, pause
from planwright.store.database import Database
from planwright.store.fencing import held
from planwright.store.heartbeat import Heartbeat
from planwright.store.owners import OwnerLocks, is_held, is_stopped, owner_of
from planwright.store.store_errors import store_error
from planwright.telemetry.log_records import ids_of

Monotonic = Callable[[], float]
_LOG = logging.getLogger("planwright.checkpoints")
PATIENCE, LOOK_S = 20, 0.25
RETRY_S = 1.0  # between two attempts at a release that the store did not take


class Leases:
    """Who works on which run; this process reports for its own until they are released."""

    def __init__(
        self,
        database: Database,
        owners: OwnerLocks,
        monotonic: Monotonic = time.monotonic,
        heartbeat: Heartbeat | None = None,
    ) -> None:
        self._database = database
        self._owners = owners
        self._monotonic = monotonic
        self._released: set[Lease] = set()  # whose row does not say so yet
        self._heartbeat = heartbeat or Heartbeat()

    async def take(self, run: Run, seconds: float, seen_token: int | None = None) -> Lease:
        """Take a run for this process; a new run is written down first.

        With `seen_token` only where its newest lease is still the one with that token: what a caller has read
        of a run is old once another process has held it.
        Raises RunError while another process holds it, or another run of its thread is open; StoreFailed
        where the store fails, and then the run is held by nobody, whether the lease was committed or not.
        """
        now_s = self._monotonic()  # not in the job: what the store counts is read from it on first use
        assigned: list[Lease] = []  # by every attempt: a commit that failed may have happened all the same

        def job(connection: sqlite3.Connection) -> Lease:
            begin_run(connection, run)
            row = _row(connection, run.run_id)
            self._refuse_held(row, now_s)
            if seen_token is not None and row["lease_token"] != seen_token:
                cause = f"run {run.run_id} was worked on by another process in this moment"
                raise RunHeld(cause, f"see how it stands, and try again: planwright show {run.thread_id}")
            lease = _assign(connection, row, self._me(), now_s + seconds, self._last(run.run_id))
            assigned.append(lease)
            return lease

        taking = asyncio.ensure_future(self._database.run("lease", job))
        try:
            lease = await asyncio.shield(taking)
        except asyncio.CancelledError:  # it is taken all the same: what is queued still happens
            taking.add_done_callback(lambda _: self._give_up(assigned, 0))
            raise
        except StoreFailed:
            self._give_up(assigned, RETRY_S)
            raise
        self._heartbeat.add(lease, seconds / 3, lambda: self._report(lease, seconds))
        return lease

    async def release(self, lease: Lease, reason: str = "") -> None:
        """Let go of a run; with a `reason`, note that it is paused for it.

        Where the store fails, it is tried again until it works.
        """
        self._heartbeat.remove(lease)
        self._released.add(lease)
        try:
            await self._database.run("lease", lambda c: _release(c, lease, reason))
        except StoreFailed:
            self._heartbeat.add(lease, RETRY_S, lambda: self._release_late(lease, reason))
        else:
            self._released.discard(lease)

    async def check(self, lease: Lease) -> None:
        """Raise LeaseLost when another process has taken the run."""
        await self._database.read(held(lease, lambda _: None))

    async def take_over(self, run: Run) -> tuple[str, Lease]:
        """Take a run from whoever holds it, living or not, and hold it no more.

        Returns who that was, and the lease that fences it off; nobody holds that.

        Raises RunError when it has ended.
        """

        def job(connection: sqlite3.Connection) -> tuple[str, Lease]:
            row = _row(connection, run.run_id)
            if row["ended_at"] is not None:
                raise RunError(f"run {run.run_id} has ended", f"see how: planwright show {run.run_id}")
            lease = _assign(connection, row, row["owner"], 0, self._last(run.run_id))
            held_by = row["owner"] if row["lease_until"] else None
            return owner_of(held_by).label if held_by else "", lease

        holder, lease = await self._database.run("lease", job)
        _LOG.warning("run %s taken over from %s", run.run_id, holder or "nobody", extra=ids_of(run))
        return holder, lease

    def is_leased(self, run: Run | RunLease) -> bool:
        """Say whether a run is held by a process that lives, or that reports and nobody here can look at."""
        if self._let_go(run.run_id, run.lease_token):
            return False
        return is_held(run.owner, run.lease_until, self._owners, self._monotonic)

    def is_silent(self, run: Run) -> bool:
        """Say whether a run is held by a process that lives, and has not reported as it promised."""
        return bool(run.lease_until) and run.lease_until < self._monotonic() and self.is_leased(run)

    async def wait_until_free(self, look: Callable[[], Awaitable[Run | None]]) -> tuple[Run | None, bool]:
        """Wait a while for whoever works on a run; return it as it is then, and whether nobody does."""
        for _ in range(PATIENCE):
            run = await look()
            if run is None or run.ended or not self.is_leased(run):
                return run, True
            await asyncio.sleep(LOOK_S)
        return run, False

    def close(self, *, still_owner: bool = False) -> None:
        """Report for nothing any more, and own nothing; unless calls still run, which this process owns."""
        self._heartbeat.close()
        if not still_owner:
            self.disown()

    def disown(self) -> None:
        """Own nothing any more: what this process has begun and not ended is that of a dead one."""
        self._owners.close()

    def _me(self) -> str:
        try:
            return str(self._owners.me())
        except OSError as error:
            raise store_error(self._database.path, error) from error

    def _let_go(self, run_id: str, token: int) -> bool:
        return any(lease.run_id == run_id and lease.token == token for lease in tuple(self._released))

    def _refuse_held(self, row: sqlite3.Row, now_s: float) -> None:
        run_id, thread_id = row["run_id"], row["thread_id"]
        if not row["lease_until"] or not row["owner"] or self._let_go(run_id, row["lease_token"]):
            return
        owner, life = owner_of(row["owner"]), self._owners.life_of(row["owner"])
        left = row["lease_until"] - now_s
        over = f"take it from there: planwright resume {thread_id} --take-over"
        if life == "alive" and is_stopped(owner):
            cause = f"run {run_id} is held by {owner.label}, which is stopped"
            raise RunHeld(cause, f"wake it (fg) or end it; or {over}")
        if life == "alive":
            cause = f"run {run_id} is being worked on by {owner.label}"
            raise RunHeld(cause, f"watch it: planwright events {thread_id}; or {over}")
        self._owners.forget(row["owner"])
        if life == "unknown" and left > 0:
            cause = f"run {run_id} is held by {owner.label}, and nobody here can tell whether it lives"
            raise RunHeld(cause, f"unless it reports, the run is free in {left:.0f} s; or {over}")
        ids = {"run_id": run_id, "thread_id": thread_id}
        _LOG.warning("run %s is taken from %s, which works on it no more", run_id, owner.label, extra=ids)

    def _report(self, lease: Lease, seconds: float) -> bool:
        """Promise to report again; says whether there is anything left to report for."""

        def job(connection: sqlite3.Connection) -> int:
            return connection.execute(
                "UPDATE runs SET lease_until=? WHERE run_id=? AND lease_token=? AND lease_until > 0",
                (until, lease.run_id, lease.token),
            ).rowcount

        try:
            until = self._monotonic() + seconds  # the clock may be that of a server
            return bool(self._database.call("lease", job))
        except PlanwrightError:
            return True  # the store may be back at the next beat; no write depends on it

    def _release_late(self, lease: Lease, reason: str = "") -> bool:
        try:
            self._database.call("lease", lambda c: _release(c, lease, reason))
        except PlanwrightError:
            return True
        self._released.discard(lease)
        return False

    def _last(self, run_id: str) -> int:
        """Give the highest token of the leases of a run that this process has let go of."""
        return max((lease.token for lease in tuple(self._released) if lease.run_id == run_id), default=0)

    def _give_up(self, leases: Iterable[Lease], delay_s: float) -> None:
        """Release leases that nobody holds, though they may be in the store."""
        for lease in leases:
            self._released.add(lease)
            self._heartbeat.add(lease, delay_s, partial(self._release_late, lease))


def _row(connection: sqlite3.Connection, run_id: str) -> sqlite3.Row:
    row: sqlite3.Row | None = connection.execute("SELECT * FROM runs WHERE run_id=?", (run_id,)).fetchone()
    if row is None:
        raise RunError(f"there is no run {run_id}", "list them: planwright ls")
    return row


def _assign(
    connection: sqlite3.Connection, row: sqlite3.Row, owner: str | None, until: float, last: int
) -> Lease:
    """Give a run to an owner, under the token after that of the row and the `last` one it may have had.

    What the owner before it had reserved counts in full.
    """
    token = max(int(row["lease_token"]), last) + 1
    settle_in_full(connection, row["run_id"])
    connection.execute(
        "UPDATE runs SET owner=?, lease_token=?, lease_until=? WHERE run_id=?",
        (owner, token, until, row["run_id"]),
    )
    return Lease(row["tenant"], row["thread_id"], row["run_id"], token, owner or "")


def _release(connection: sqlite3.Connection, lease: Lease, reason: str = "") -> None:
    mine = (lease.run_id, lease.token, lease.owner)  # a lease that was not committed: another has its token
    released = connection.execute(
        "UPDATE runs SET lease_until=0 WHERE run_id=? AND lease_token=? AND owner=?", mine
    )
    if reason and released.rowcount:
        pause(connection, lease.run_id, reason)
