"""What has to be true of ends and schedules, by the time that truly goes by."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from benchmarks.simulated_machines import WrongClock
from benchmarks.simulated_time import World
from planwright.records.queue.queue import END_OF_TIME
from planwright.store.time_marks import JOIN_S, LOOK_S, NEAR_S, SETTLE_S, TICK_S

LATE_S = SETTLE_S + 300.0
"""By how much something may end late, beside time off that no clock could tell."""
START_S = JOIN_S + TICK_S + LOOK_S + NEAR_S
"""By how much something may end early for each start of a machine, or of another host."""


@dataclass
class Open:
    """Something that is to end a while after it was opened."""

    at: float
    ttl_s: float
    starts: int
    late_s: float = 0
    """Time off of which the store could not know."""
    early_s: float = 0
    """What a clock that goes fast makes of time off, beyond that."""


@dataclass
class Taken:
    """When a schedule was taken last, and how long somebody was there to do so since."""

    at_work_s: float = 0
    times: set[tuple[str, float]] = field(default_factory=set)


class Ends:
    """Watches over what ends, and over schedules."""

    def __init__(self, world: World, clock: WrongClock, path: Path, periods: dict[str, float]) -> None:
        self.world, self._clock, self.path = world, clock, path
        self._reader: sqlite3.Connection | None = None
        self._open: dict[str, Open] = {}
        self._seen: set[str] = set()
        self._starts = 0
        self._boots: set[str] = set()
        self._at_work_until = 0.0
        self._wrong_then_s = 0.0
        self._offs: list[tuple[float, float]] = []  # when it began again, and how long nobody was there
        self._quiet_since = 0.0
        self._looked_at = 0.0
        self.taken = {name: Taken() for name in periods}
        self._periods = periods
        self.wrong: list[str] = []
        self.ended = 0
        self.earliest_s = 0.0
        self.latest_s = 0.0
        self.most_silent = 0.0
        """Longest silence of a schedule, in its periods."""

    def rows(self, query: str) -> list[sqlite3.Row]:
        """Read rows with plain SQLite; none where there is no store yet."""
        if self._reader is None:
            if not self.path.exists():
                return []
            self._reader = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)
            self._reader.row_factory = sqlite3.Row
        return self._reader.execute(query).fetchall()

    def close(self) -> None:
        """Stop reading."""
        if self._reader is not None:
            self._reader.close()

    def queued(self, thread: str, ttl_s: float) -> None:
        """Note that a session was queued."""
        self._open[thread] = Open(self.world.now, ttl_s, self._starts)

    def begins(self, boot: str, on_server: bool) -> None:
        """Note that a process begins: of a new boot, of another host, or where all is known."""
        now = self.world.now
        if boot in self._boots and not on_server:
            return
        self._boots.add(boot)
        self._starts += 1
        off_s = now - self._at_work_until
        known = not self._clock.turned_between(self._at_work_until - LATE_S, now)
        self._offs = [*(off for off in self._offs if now - off[0] < LATE_S), (now, off_s if known else 0)]
        for each in self._open.values():
            each.late_s += 0 if known else off_s
            each.early_s += max(0.0, self._clock.wrong_s - self._wrong_then_s)

    def turned(self) -> None:
        """Note that the clock was turned: what is not known yet takes as long again, or stays unknown."""
        now = self._quiet_since = self.world.now
        unknown_s = sum(off_s for at, off_s in self._offs if now - at < LATE_S)
        self._offs.clear()
        for each in self._open.values():
            each.late_s += unknown_s

    def went_by(self, at_work: bool) -> None:
        """Note the time since the last look, and whether anybody was at work in it."""
        went = self.world.now - self._looked_at
        self._looked_at = self.world.now
        if at_work:
            self._at_work_until, self._wrong_then_s = self.world.now, self._clock.wrong_s
            for name, taken in self.taken.items():
                taken.at_work_s += went
                silent = taken.at_work_s / self._periods[name]
                self.most_silent = max(self.most_silent, silent)
                if silent > 2 and taken.at_work_s - went <= 2 * self._periods[name]:
                    self.wrong.append(f"schedule {name} is silent for {taken.at_work_s:.0f} s")
        else:
            self._quiet_since = self.world.now

    def look(self, names: frozenset[str]) -> None:
        """Look at what a commit has changed."""
        if names & {"queue", "schedule"}:
            for row in self.rows("SELECT name, due, taken_s FROM schedule_runs"):
                taken = self.taken[row["name"]]
                if (time := (row["due"], row["taken_s"])) not in taken.times:
                    taken.times.add(time)
                    taken.at_work_s = 0
        if "gate" in names:
            for row in self.rows("SELECT gate_id, requested_at, expires_at FROM gates WHERE status = 'open'"):
                spans = (datetime.fromisoformat(row[name]) for name in ("expires_at", "requested_at"))
                ttl_s = (next(spans) - next(spans)).total_seconds()
                self._open.setdefault(row["gate_id"], Open(self.world.now, ttl_s, self._starts))
        if names & {"cancel", "expiry", "decision", "end"}:
            query = f"SELECT thread_id AS id FROM runs WHERE cancelled_by = '{END_OF_TIME}'"
            for row in [
                *self.rows(query),
                *self.rows("SELECT gate_id AS id FROM gates WHERE status = 'expired'"),
            ]:
                self._expired(row["id"])
            for row in self.rows("SELECT gate_id FROM gates WHERE status IN ('approved', 'rejected')"):
                self._decided(row["gate_id"])

    def _expired(self, id_: str) -> None:
        """Look at something that has just expired: had its time gone by?"""
        if id_ in self._seen or (each := self._open.get(id_)) is None:
            return
        self._seen.add(id_)
        self.ended += 1
        early_s = each.at + each.ttl_s - self.world.now
        self.earliest_s = max(self.earliest_s, early_s)
        if early_s > each.early_s + START_S * (self._starts - each.starts) + 0.01:
            self.wrong.append(f"{id_} ended {early_s:.0f} s early, of {each.ttl_s:.0f} s")

    def _decided(self, gate_id: str) -> None:
        """Look at a gate that has just been answered: was it in time?"""
        if gate_id not in self._seen and (each := self._open.get(gate_id)) is not None:
            self._seen.add(gate_id)
            self._late(gate_id, each)

    def look_for_late(self) -> None:
        """Look for what is open and should have ended."""
        query = """SELECT s.thread_id FROM sessions s JOIN runs r USING (run_id)
            WHERE r.ended_at IS NULL AND r.cancelled_by IS NULL"""
        for (thread,) in self.rows(query):
            if (each := self._open.get(thread)) is not None and thread not in self._seen:
                self._late(thread, each)

    def _late(self, id_: str, each: Open) -> None:
        if self._clock.goes_wrong:
            return
        since = max(each.at + each.ttl_s + each.late_s, self._quiet_since)
        late_s = self.world.now - since
        self.latest_s = max(self.latest_s, late_s)
        if late_s > LATE_S:
            self._seen.add(id_)
            self.wrong.append(f"{id_} is open {late_s:.0f} s after its end, of {each.ttl_s:.0f} s")
