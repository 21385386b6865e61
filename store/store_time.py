"""The one place that decides what time it is for a store; all that is decided by time in it asks here.

The clock is that of the machine, or of the server. It is held against the seconds since the boot, and the
mark of both is a row: by it processes of one boot agree, and another boot goes on where it stood.
"""

from __future__ import annotations

import logging
import math
import sqlite3
import uuid
from dataclasses import fields, replace
from datetime import datetime, timedelta

from planwright.domain.clock import Clock, Timer, timer_of, utc_now
from planwright.domain.errors import StoreFailed
from planwright.store.audit_chain import append_row
from planwright.store.database import Database
from planwright.store.sealed_rows import GATES
from planwright.store.time_marks import (
    APART_S,
    LOOK_S,
    NEAR_S,
    TICK_S,
    Reading,
    TimeMark,
    begun,
    is_of,
    joined,
    looked_at,
    taken_up,
)

WARN_S = 60.0
"""How far a clock has to be off, in seconds, before a line about it is a warning."""
_COLUMNS = tuple(field.name for field in fields(TimeMark) if field.name != "apart_s")
_READ = f"SELECT {', '.join(_COLUMNS)} FROM store_time"
_WRITE = f"INSERT OR REPLACE INTO store_time (n, {', '.join(_COLUMNS)}) VALUES (1{', ?' * len(_COLUMNS)})"
_SERVER_CLOCK = "SELECT extract(epoch FROM clock_timestamp())::float8"
TERM_OF_SESSION = "SELECT opened_s, closes_s, expires_at FROM sessions WHERE run_id = ?"
"""Reads when a session closes, by its run."""
_GATES = "SELECT gate_id AS id, opened_s, closes_s, expires_at FROM gates WHERE status = 'open'"
_SESSIONS = """SELECT run_id AS id, s.opened_s, s.closes_s, s.expires_at FROM sessions s
    JOIN runs r USING (run_id) WHERE r.ended_at IS NULL"""
_LOG = logging.getLogger("planwright.checkpoints")


class StoreTime:
    """What time it is for one store, as this process knows it. Safe to ask from any thread.

    `clock` is that of this machine; of a store on a server that of the server counts instead of it.
    """

    def __init__(self, database: Database, clock: Clock, timer: Timer) -> None:
        self.timer = timer
        self._database = database
        self._clock = clock
        self._boot = timer.boot or f"process {uuid.uuid4().hex}"
        self._mark: TimeMark | None = None
        self._taken_up_s = math.inf  # what was counted when this boot was taken up
        self._looked_s = -math.inf
        self._apart_s = 0.0  # by how much another host may have counted less
        self._unheard_of = False  # whether other hosts have to know of this boot
        self._warned_s = 0.0

    def now(self) -> datetime:
        """Tell the time of day, in UTC. Until the store was looked at it is that of the clock."""
        if self._mark is None or not self.timer.boot:
            return self._clock()
        return self._mark.after(self.timer.seconds()).now

    def latest(self) -> datetime:
        """Tell the latest time of day that it may be, in UTC: nothing is allowed by what may be over."""
        if self._mark is None or not self.timer.boot:
            return self._clock()
        return self._mark.after(self.timer.seconds()).latest

    def counted_s(self) -> float:
        """Tell what the store has counted, in seconds; it never falls. It may block: call it in no job."""
        return self.mark.counted_s

    @property
    def mark(self) -> TimeMark:
        """Where the time stands now. It is read on first use, which blocks: not in a job of the store."""
        if self._mark is None:
            self._mark = self._database.look(self._seen)[1]
        return self._mark.after(self.timer.seconds())

    def since(self, looked: TimeMark) -> TimeMark:
        """Tell where the time stands now, in a job of the store too, from when it was looked at before."""
        return looked.after(self.timer.seconds())

    async def look(self) -> TimeMark:
        """Hold the clock against the time of the store, every ten seconds at most; write down what follows.

        Raises StoreFailed where the store cannot be read.
        """
        seconds = self.timer.seconds()
        if self._mark is None or not self.timer.boot or seconds - self._looked_s >= LOOK_S:
            self._looked_s = seconds
            row, mark = await self._database.read(self._seen)
            self._mark = mark
            if row is not None and (self._unheard_of or _differs(row, mark)):
                self._unheard_of = False
                await self._write()
            elif row is None or mark.counted_s - row.counted_s >= TICK_S:
                self._database.submit("time", self._marked, rides=True)
            self._log_off(self.mark)
        return self.mark

    async def _write(self) -> None:
        """Write a mark down that others have to know at once, and log what it means."""
        try:
            before, now = await self._database.run("time", self._marked)
        except StoreFailed:  # a store that is read-only, say: who can write does
            return
        if before is not None:
            _log_change(before, now)

    def _marked(self, connection: sqlite3.Connection) -> tuple[TimeMark | None, TimeMark]:
        row, mark = self._seen(connection)
        connection.execute(_WRITE, tuple(getattr(mark, name) for name in _COLUMNS))
        if row is not None and abs(mark.ahead_s - row.ahead_s) > NEAR_S:
            move_ends(connection, mark, sooner=_is_known_now(row, mark))
        self._mark = mark
        return row, mark

    def _seen(self, connection: sqlite3.Connection) -> tuple[TimeMark | None, TimeMark]:
        """Read the mark on record, and hold the clock against it."""
        reading, row = _reading(connection, self._clock, self.timer, self._boot), _read(connection)
        if row is None:  # or it is not written yet
            return None, looked_at(self._mark or begun(reading), reading)
        mark = looked_at(row if is_of(row, reading) else self._gone_on(row, reading), reading)
        return row, replace(mark, apart_s=self._apart_s)

    def _gone_on(self, row: TimeMark, reading: Reading) -> TimeMark:
        """Go on from the mark of another boot: an earlier one, or that of a host beside this one."""
        if self._mark is None or not is_of(self._mark, reading):
            self._taken_up_s, self._unheard_of = row.counted_s, True
            return taken_up(row, reading)
        self._unheard_of |= not self._apart_s
        self._apart_s = APART_S
        mine = self._mark.after(reading.boot_s)
        return joined(mine, row, reading) if not mine.was_off or row.counted_s > self._taken_up_s else mine

    def _log_off(self, mark: TimeMark) -> None:
        """Log once that a clock is not believed: that of the store, or that of this machine beside it."""
        off_s = mark.off_s or self._clock().timestamp() - mark.now_s
        off_s = off_s if abs(off_s) > WARN_S else 0.0
        if abs(off_s - self._warned_s) > WARN_S:
            self._warned_s = off_s
            if trouble := trouble_of(mark, self._clock):
                _LOG.warning("%s; %s", *trouble)


def time_on_record(connection: sqlite3.Connection) -> TimeMark:
    """Read what time it is for a store, for who looks at it and writes nothing."""
    timer = timer_of(utc_now)
    reading = _reading(connection, utc_now, timer, timer.boot)
    known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'store_time'").fetchone()
    row = _read(connection) if known is not None else None
    if row is None:
        return begun(reading)
    return looked_at(row if is_of(row, reading) else taken_up(row, reading), reading)


def trouble_of(mark: TimeMark, own_clock: Clock = utc_now) -> tuple[str, str] | None:
    """Say in words which clock is not believed, and what comes of it; None where all agree."""
    now, believed = f"{mark.now:%Y-%m-%d %H:%M:%S} UTC", f"{mark.moment(mark.believed_s):%H:%M:%S} UTC"
    if mark.was_off and mark.gap_s >= 0:
        cause = f"by its clock this machine, or whoever used the store, was off for {_span(mark.gap_s)}"
        return cause, f"that counts from {believed} on, if the clock stands; nothing ends by it before"
    if mark.off_s:
        cause = f"the clock is {_way(mark.off_s)} the time of the store, {now}, and is not believed"
        return cause, f"set it right; if it stands, days and schedules go by it from {believed} on"
    if abs(off_s := own_clock().timestamp() - mark.now_s) > WARN_S:
        cause = f"the clock of this machine is {_way(off_s)} that of the server, {now}"
        return cause, "the server's counts; set this one right, for what else goes by it"
    return None


def _reading(connection: sqlite3.Connection, clock: Clock, timer: Timer, boot: str) -> Reading:
    """Read the clock of a store, and the seconds since the boot at the same moment."""
    before_s = timer.seconds()
    if clock is utc_now and not isinstance(connection, sqlite3.Connection):
        clock_s = float(connection.execute(_SERVER_CLOCK).fetchone()[0])
    else:
        clock_s = clock().timestamp()
    return Reading(clock_s, (before_s + timer.seconds()) / 2, boot, named=bool(timer.boot))


def _read(connection: sqlite3.Connection) -> TimeMark | None:
    row = connection.execute(_READ).fetchone()
    if row is None:
        return None
    values = dict(zip(_COLUMNS, tuple(row), strict=True))
    return TimeMark(**{**values, "was_off": bool(values["was_off"])})


def _is_known_now(before: TimeMark, now: TimeMark) -> bool:
    """Say whether it is known since a mark how long the machine was off."""
    return before.was_off and not now.was_off and before.taken_up_s == now.taken_up_s


def _differs(row: TimeMark, mark: TimeMark) -> bool:
    """Say whether a mark tells other processes more than that time has gone by."""
    before, now = ((each.was_off, each.gap_s, each.off_s, each.since_s) for each in (row, mark))
    return before != now or abs(mark.ahead_s - row.ahead_s) > NEAR_S


def _log_change(before: TimeMark, now: TimeMark) -> None:
    """Log that a clock is believed now, and what was counted for it."""
    by_s = now.ahead_s - before.ahead_s
    if _is_known_now(before, now):
        text = "this machine, or whoever used the store, was off for %s: what was open closes sooner by that"
        _LOG.log(_level(now.gap_s), text, _span(max(0.0, now.gap_s)))
        by_s -= max(0.0, now.gap_s)
    if abs(by_s) > NEAR_S:
        text = "the time of the store is set %s by %s, to %s UTC; what is open keeps the time it has left"
        way = "forward" if by_s > 0 else "back"
        _LOG.log(_level(by_s), text, way, _span(by_s), f"{now.now:%Y-%m-%d %H:%M:%S}")


def _level(seconds: float) -> int:
    return logging.WARNING if abs(seconds) > WARN_S else logging.INFO


def _way(off_s: float) -> str:
    return f"{_span(off_s)} {'ahead of' if off_s > 0 else 'behind'}"


def _span(seconds: float) -> str:
    return str(timedelta(seconds=round(abs(seconds))))


def closes_of(row: sqlite3.Row) -> float:
    """Read the second, as counted, at which a gate or a session closes; older rows have the label alone."""
    closes_s = row["closes_s"]
    return datetime.fromisoformat(row["expires_at"]).timestamp() if closes_s is None else float(closes_s)


def is_late(row: sqlite3.Row, mark: TimeMark) -> bool:
    """Say whether the time of a gate or a session is up."""
    return mark.is_over(closes_of(row))


def may_be_late(row: sqlite3.Row, mark: TimeMark) -> bool:
    """Say whether it is, or is if the machine was off for as long as the clock says."""
    return mark.may_be_over(row["opened_s"] or 0, closes_of(row))


def close_gate_at(connection: sqlite3.Connection, gate_id: str, closes_s: float, mark: TimeMark) -> None:
    """Let an open gate close at a second, and show the time of day of that."""
    connection.execute(
        "UPDATE gates SET closes_s = ?, expires_at = ? WHERE gate_id = ?",
        (closes_s, mark.moment(closes_s).isoformat(), gate_id),
    )
    approved = connection.execute("SELECT approvals FROM gates WHERE gate_id = ?", (gate_id,)).fetchone()[0]
    if approved:  # it is in the chain already, as it was
        append_row(connection, "gate", GATES, gate_id, mark.now)


def close_session_at(connection: sqlite3.Connection, run_id: str, closes_s: float, mark: TimeMark) -> None:
    """Let a session expire at a second, and show the time of day of that."""
    connection.execute(
        "UPDATE sessions SET closes_s = ?, expires_at = ? WHERE run_id = ?",
        (closes_s, mark.moment(closes_s).isoformat(), run_id),
    )


def move_ends(connection: sqlite3.Connection, mark: TimeMark, *, sooner: bool) -> None:
    """Let what is open show when it closes by the time of day as it is set now.

    With `sooner` it also closes sooner by the time in which the machine was off, if it was open then.
    """
    for query, close_at in ((_GATES, close_gate_at), (_SESSIONS, close_session_at)):
        for row in connection.execute(query).fetchall():
            closes_s = closes_of(row)
            if sooner:
                closes_s = mark.sooner(row["opened_s"] or 0, closes_s)
            close_at(connection, row["id"], closes_s, mark)
