"""Pages of runs: searched, by status and agent, the newest first; with what each has cost and asks for."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planwright.records.history.rows import Row
from planwright.store.database import Database

_WHERE = """r.tenant = :tenant AND (:status = '' OR r.status = :status)
    AND (:agent = '' OR json_extract(r.context, '$.agent') = :agent)
    AND (:text = '' OR instr(lower(r.request), lower(:text)) > 0 OR :text IN (r.run_id, r.thread_id))"""
_PAGE = f"""SELECT r.rowid AS number, r.run_id, r.thread_id, r.status, r.paused_for, r.owner, r.lease_until,
    r.started_at, r.ended_at, substr(r.request, 1, 300) AS request,
    json_extract(r.context, '$.agent') AS agent,
    (SELECT count(*) FROM gates g WHERE g.run_id = r.run_id AND g.status = 'open') AS gates,
    (SELECT sum(u.cost) FROM usage u WHERE u.run_id = r.run_id AND u.settled = 1) AS cost,
    (SELECT sum(u.tokens) FROM usage u WHERE u.run_id = r.run_id AND u.settled = 1) AS tokens
    FROM runs r WHERE {_WHERE} ORDER BY r.rowid DESC LIMIT :limit OFFSET :skipped"""
_COUNT = f"SELECT count(*) FROM runs r WHERE {_WHERE}"
_STATUSES = "SELECT status, count(*) AS count FROM runs WHERE tenant = ? GROUP BY status ORDER BY status"
_AGENTS = """SELECT DISTINCT json_extract(context, '$.agent') AS agent FROM runs
    WHERE tenant = ? AND json_extract(context, '$.agent') IS NOT NULL ORDER BY agent LIMIT 200"""

_QUESTIONS = """SELECT r.run_id, r.thread_id, r.request, r.answer, r.ended_at FROM runs r
    WHERE r.tenant = ? AND r.status = 'needs_input' AND r.ended_at >= ?
    AND NOT EXISTS (SELECT 1 FROM runs n WHERE n.thread_id = r.thread_id AND n.rowid > r.rowid)
    ORDER BY r.rowid DESC LIMIT 50"""

_REQUESTS = """SELECT r.request FROM runs r WHERE r.tenant = ? AND r.status = 'completed'
    AND length(r.request) <= ? AND NOT EXISTS (SELECT 1 FROM forks f WHERE f.run_id = r.run_id)
    ORDER BY r.rowid DESC LIMIT ?"""


@dataclass(frozen=True)
class RunFilter:
    """Which runs are wanted; what is "" matters to nobody."""

    tenant: str
    """Tenant that they belong to."""
    text: str = ""
    """Words in their request, or the id of a run or thread."""
    status: str = ""
    """Status that they have."""
    agent: str = ""
    """Agent that they are done by."""


@dataclass(frozen=True)
class RunPage:
    """One page of runs."""

    rows: Sequence[Row]
    """Runs of the page, the newest first."""
    total: int
    """How many runs there are on all pages."""
    statuses: Mapping[str, int]
    """How many runs of the tenant have each status."""
    agents: list[str]
    """Agents that have done a run of the tenant."""


class RunPages:
    """The runs of a tenant, page by page."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, wanted: RunFilter, limit: int, skipped: int) -> RunPage:
        """Read a page of at most `limit` runs, after the `skipped` newest."""
        parameters = {**vars(wanted), "limit": limit, "skipped": skipped}

        def job(connection: sqlite3.Connection) -> RunPage:
            rows = [dict(row) for row in connection.execute(_PAGE, parameters)]
            total = int(connection.execute(_COUNT, parameters).fetchone()[0])
            statuses = {row[0]: row[1] for row in connection.execute(_STATUSES, (wanted.tenant,))}
            agents = [str(row[0]) for row in connection.execute(_AGENTS, (wanted.tenant,))]
            return RunPage(rows, total, statuses, agents)

        return await self._database.read(job)

    async def questions(self, tenant: str, since: str) -> list[Row]:
        """List the runs that ended with a question since a time, and that nobody has answered."""

        def job(connection: sqlite3.Connection) -> list[Row]:
            return [dict(row) for row in connection.execute(_QUESTIONS, (tenant, since))]

        return await self._database.read(job)

    async def requests(self, tenant: str, longest: int, limit: int) -> list[str]:
        """List what was asked for in words and completed, the newest first, of at most `longest` letters.

        Left out are calls by name, forks and undoings: their requests are not what a person has written.
        """

        def job(connection: sqlite3.Connection) -> list[str]:
            rows = connection.execute(_REQUESTS, (tenant, longest, limit))
            return [str(row[0]) for row in rows]

        return await self._database.read(job)
