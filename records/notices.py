"""Messages to people: which are due by the records, and which are sent.

Due is what the records say and no row here does: whoever opens a gate knows nothing of messages. A row is
written before its message is sent, so two processes never send the same; where a process dies in between, the
next one sends it again under the same id.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import islice

from planwright.domain.chain import CREATE_CHAIN
from planwright.domain.hashing import sha256
from planwright.settings.mail import NoticeKind, NoticeWay
from planwright.store.database import Database
from planwright.store.owners import OwnerLocks
from planwright.store.store_errors import store_error
from planwright.store.store_time import StoreTime
from planwright.store.time_marks import TimeMark

CLAIM_S = 1_800.0
"""Seconds for which a message is left to a process that lives: longer than a mail server takes for 50."""
MOST_ATTEMPTS = 8
AGAIN_S = 15.0
"""Seconds until a message that was not taken is sent again; twice as long each time."""
LATE_S = 86_400.0
"""Seconds after its end from which nobody is told any more that a run has failed."""
_UNSENT = """LEFT JOIN notices n ON n.kind = :kind AND n.subject = {subject} AND n.way = :way
    WHERE n.sent_at IS NULL AND coalesce(n.attempts, 0) < :most AND"""
_SHARED = "r.run_id, r.tenant, r.tenant AS addressee, n.owner, n.free_s, n.attempts"
_GATES = f"""SELECT r.gate_id AS subject, {_SHARED} FROM gates r {_UNSENT.format(subject="r.gate_id")}
    r.status = 'open' AND r.closes_s > :now_s"""
# A run that is at work may settle its effects itself; a gate that asks about them has its own message.
_DOUBTS = f"""SELECT e.key AS subject, {_SHARED} FROM effects e JOIN runs r ON r.run_id = e.run_id
    {_UNSENT.format(subject="e.key")} e.status = 'in_doubt' AND e.capability <> '{CREATE_CHAIN}'
    AND r.status NOT IN ('queued', 'running') AND NOT EXISTS (
        SELECT 1 FROM gates g WHERE g.run_id = e.run_id AND g.status = 'open' AND g.kind = 'escalation')"""
_DUE: Mapping[NoticeKind, str] = {
    "gate_opened": f"{_GATES} ORDER BY r.rowid",
    "gate_climbed": f"{_GATES} AND :now_s - r.opened_s >= :climb_s ORDER BY r.rowid",
    "gate_closing": f"""{_GATES} AND r.closes_s - :now_s <= :closing_s
        AND 4 * (r.closes_s - :now_s) <= r.closes_s - r.opened_s ORDER BY r.rowid""",
    "effect_in_doubt": f"{_DOUBTS} ORDER BY e.intended_at",
    "run_failed": f"""SELECT r.run_id AS subject, {_SHARED} FROM runs r
        {_UNSENT.format(subject="r.run_id")} r.status IN ('failed', 'timeout') AND r.ended_at >= :since
        ORDER BY r.ended_at""",
    "schedule_answered": f"""SELECT r.run_id AS subject, r.run_id, r.tenant, s.schedule AS addressee, n.owner,
        n.free_s, n.attempts FROM runs r JOIN sessions s ON s.run_id = r.run_id
        {_UNSENT.format(subject="r.run_id")} json_extract(r.context, '$.channel') = 'schedule'
        AND r.ended_at >= :since ORDER BY r.ended_at""",
}
_CLAIM = """INSERT INTO notices (kind, subject, way, tenant, run_id, notice_id, owner, free_s, claimed_at,
    attempts) VALUES (?,?,?,?,?,?,?,?,?,1) ON CONFLICT (kind, subject, way) DO UPDATE SET
    owner = excluded.owner, free_s = excluded.free_s, claimed_at = excluded.claimed_at,
    attempts = notices.attempts + 1"""
_SENT = """UPDATE notices SET sent_at = ?, owner = NULL, error = NULL
    WHERE kind = ? AND subject = ? AND way = ?"""
_NOT_SENT = """UPDATE notices SET owner = NULL, free_s = ?, error = ?
    WHERE kind = ? AND subject = ? AND way = ? AND sent_at IS NULL"""


@dataclass(frozen=True)
class Notice:
    """One message that is to be sent one way."""

    kind: NoticeKind
    """What it tells."""
    subject: str
    """Id of the gate or run, or key of the effect, that it is on."""
    way: NoticeWay
    """How it goes."""
    tenant: str
    """Whose it is."""
    run_id: str
    """Run that it is on."""
    addressee: str
    """Tenant whose addresses it goes to, or schedule."""
    attempt: int = 1
    """How often it was sent, this time included."""

    @property
    def notice_id(self) -> str:
        """Its id, the same however often it is sent."""
        return "notice_" + sha256([self.kind, self.subject])[:32]


@dataclass(frozen=True)
class NoticeScope:
    """Which messages are to be sent."""

    addressees: Mapping[tuple[NoticeKind, NoticeWay], Collection[str]]
    """Tenants, or schedules, that messages of a kind go to one way; nothing for kinds that are not told."""
    closing_s: float
    """Seconds before its end at which a gate is near it."""
    climb_s: float
    """Seconds after which a gate that is open goes on to the next."""


class Notices:
    """The table of messages to people."""

    def __init__(self, database: Database, owners: OwnerLocks, time: StoreTime) -> None:
        self._database = database
        self._owners = owners
        self._time = time

    async def claim(self, scope: NoticeScope, most: int) -> list[Notice]:
        """Take messages that are due, at most so many, for this process to send; nobody else sends them now.

        Where none is due nothing is written. Raises StoreFailed.
        """
        mark = await self._time.look()
        if not await self._database.read(lambda c: self._due(c, scope, mark, 1)):
            return []
        me = self._me()

        def job(connection: sqlite3.Connection) -> list[Notice]:
            due = self._due(connection, scope, mark, most)
            for notice in due:
                key = (notice.kind, notice.subject, notice.way, notice.tenant, notice.run_id)
                row = (*key, notice.notice_id, me, mark.counted_s + CLAIM_S, mark.now.isoformat())
                connection.execute(_CLAIM, row)
            return due

        return await self._database.run("notice", job)

    async def settle(self, notice: Notice, error: str = "") -> None:
        """Write down that a message was sent, or why it was not: then it is due again after a while."""
        mark = await self._time.look()
        key = (notice.kind, notice.subject, notice.way)
        free_s = mark.counted_s + AGAIN_S * 2 ** (notice.attempt - 1)
        query, values = (_NOT_SENT, (free_s, error)) if error else (_SENT, (mark.now.isoformat(),))
        await self._database.run("notice", lambda c: c.execute(query, (*values, *key)).rowcount)

    def _me(self) -> str:
        """Name this process, as one whose death is seen."""
        try:
            return str(self._owners.me())
        except OSError as error:
            raise store_error(self._database.path, error) from error

    def _due(
        self, connection: sqlite3.Connection, scope: NoticeScope, mark: TimeMark, most: int
    ) -> list[Notice]:
        """List what is due, by way and kind; the oldest of each first."""
        limits: dict[str, float | str] = {
            "most": MOST_ATTEMPTS,
            "now_s": mark.counted_s,
            "closing_s": scope.closing_s,
            "climb_s": scope.climb_s,
            "since": mark.moment(mark.counted_s - LATE_S).isoformat(),
        }
        due = (
            Notice(
                *(kind, row["subject"], way, row["tenant"], row["run_id"], row["addressee"]),
                attempt=(row["attempts"] or 0) + 1,
            )
            for (kind, way), names in scope.addressees.items()
            for row in connection.execute(_DUE[kind], {"kind": kind, "way": way, **limits})
            if row["addressee"] in names and self._is_free(row, mark)
        )
        return list(islice(due, most))

    def _is_free(self, row: sqlite3.Row, mark: TimeMark) -> bool:
        """Say whether nobody is sending it: its claim is over, or the process that had it has died."""
        if row["free_s"] is None or row["free_s"] <= mark.counted_s:
            return True
        return row["owner"] is not None and self._owners.life_of(row["owner"]) == "dead"
