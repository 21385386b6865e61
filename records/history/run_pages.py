"""Pages of runs: searched, by status and agent, the newest first; with what each has cost and asks for."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planwright.records.effects.doubts import DOUBTFUL
from planwright.records.history.interrupted import STATUS
from planwright.records.history.rows import Row, count_of, rows_of

_UNANSWERED = """r.status = 'needs_input' AND r.ended_at >= :asked_since
    AND NOT EXISTS (SELECT 1 FROM runs n WHERE n.thread_id = r.thread_id AND n.rowid > r.rowid)"""
_WAITING = f"""SELECT r.rowid FROM runs r WHERE r.status = 'waiting' AND r.ended_at IS NULL
    UNION ALL SELECT r.rowid FROM runs r WHERE {_UNANSWERED}"""
_HELD = ("running", "interrupted")  # what a run is of these two, its row does not say
_CONDITIONS = {
    "tenant": "r.tenant = :tenant",
    "waiting": f"r.rowid IN ({_WAITING})",
    "held": f"r.status = 'running' AND {STATUS} = :status",
    "status": "r.status = :status",
    "agent": "json_extract(r.context, '$.agent') = :agent",
    "text": "(instr(lower(r.request), lower(:text)) > 0 OR :text IN (r.run_id, r.thread_id))",
}
_PAGE = f"""SELECT r.run_id, r.thread_id, r.tenant, {STATUS} AS status, r.paused_for,
    r.started_at, r.ended_at, r.request, coalesce(t.title, substr(r.request, 1, 60)) AS title,
    json_extract(r.context, '$.agent') AS agent,
    CASE r.status WHEN 'needs_input' THEN 'question' ELSE coalesce((SELECT group_concat(gate_id, ' ')
        FROM gates g WHERE g.run_id = r.run_id AND g.status = 'open'), 'decided') END AS gates,
    (SELECT count(*) FROM effects e WHERE e.run_id = r.run_id AND {DOUBTFUL}) AS in_doubt,
    (SELECT sum(u.cost) FROM usage u WHERE u.run_id = r.run_id AND u.settled = 1) AS cost
    FROM runs r LEFT JOIN threads t ON t.thread_id = r.thread_id
    WHERE r.rowid IN (SELECT r.rowid FROM runs r WHERE {{where}}
        ORDER BY r.rowid DESC LIMIT :limit OFFSET :skipped) ORDER BY r.rowid DESC"""
_COUNT = "SELECT count(*) FROM runs r WHERE {where}"
_STATUSES = f"""SELECT r.status AS name, count(*) AS count FROM runs r
    WHERE r.tenant = :tenant AND r.status <> 'running' GROUP BY r.status
    UNION ALL SELECT {STATUS} AS name, count(*) AS count FROM runs r
    WHERE r.tenant = :tenant AND r.status = 'running' AND r.ended_at IS NULL GROUP BY 1 ORDER BY 1"""
_AGENT = """SELECT min(json_extract(context, '$.agent')) FROM runs
    WHERE tenant = :tenant AND json_extract(context, '$.agent') {after}"""
_AGENTS = f"""WITH RECURSIVE agents (agent) AS ({_AGENT.format(after="IS NOT NULL")}
    UNION ALL SELECT ({_AGENT.format(after="> agents.agent")}) FROM agents WHERE agent IS NOT NULL)
    SELECT agent FROM agents WHERE agent IS NOT NULL LIMIT 200"""
_QUESTIONS = f"""SELECT r.run_id, r.thread_id, r.request, r.answer, r.context, r.ended_at FROM runs r
    WHERE {_UNANSWERED} AND (:tenant IS NULL OR r.tenant = :tenant)
    AND (:id = '' OR :id IN (r.thread_id, r.run_id)) ORDER BY +r.rowid DESC LIMIT 50"""  # few ask""
_REQUESTS = """SELECT r.request FROM runs r WHERE r.tenant = ? AND r.status = 'completed'
    AND length(r.request) <= ? AND NOT EXISTS (SELECT 1 FROM forks f WHERE f.run_id = r.run_id)
    ORDER BY r.rowid DESC LIMIT ?"""

_THREADS = """SELECT max(r.rowid), r.thread_id, coalesce(max(t.title), '') FROM runs r
    LEFT JOIN threads t ON t.thread_id = r.thread_id WHERE r.tenant = :tenant AND {which}
    GROUP BY r.thread_id ORDER BY max(r.rowid) DESC LIMIT :most"""
_HAS_STATE = "EXISTS (SELECT 1 FROM checkpoints c WHERE c.thread_id = r.thread_id)"
_OF_THREAD = "r.rowid IN (SELECT rowid FROM runs WHERE thread_id = :thread)"
_BY_ID = f"{_OF_THREAD} AND (r.status IN ('queued', 'paused', 'budget_exceeded') OR {_HAS_STATE})"
_NEWER = f"r.rowid > :after AND {_HAS_STATE}"


@dataclass(frozen=True)
class RunFilter:
    """Which runs are wanted; what is "" matters to nobody."""

    tenant: str | None = None
    """Tenant that they belong to; None for all."""
    text: str = ""
    """Words in their request, or the id of a run or thread."""
    status: str = ""
    """Status that they have, as it is shown."""
    agent: str = ""
    """Agent that they are done by."""
    waiting: bool = False
    """Whether only those are wanted that have an open gate, or that ended with a question of late."""
    asked_since: str = ""
    """Since when a question counts as waiting, in ISO 8601."""
    interrupted: str = ""
    """Ids of the runs that are interrupted, as `interrupted_of` names them."""


@dataclass(frozen=True)
class RunPage:
    """One page of runs."""

    rows: Sequence[Row]
    """Runs of the page, the newest first."""
    total: int
    """How many runs there are on all pages."""


@dataclass(frozen=True)
class RunChoices:
    """By what the runs of a tenant can be chosen."""

    statuses: Mapping[str, int]
    """How many runs of the tenant have each status."""
    agents: list[str]
    """Agents that have done a run of the tenant."""


def runs_page(connection: sqlite3.Connection, wanted: RunFilter, limit: int, skipped: int) -> RunPage:
    """Read a page of at most `limit` runs, after the `skipped` newest."""
    held = wanted.status in _HELD
    status = {"held": held, "status": wanted.status and not held}
    matters = {**vars(wanted), **status, "tenant": wanted.tenant is not None}
    where = " AND ".join(text for name, text in _CONDITIONS.items() if matters[name]) or "1 = 1"
    place = {**vars(wanted), "limit": limit, "skipped": skipped}
    rows = list(rows_of(connection, _PAGE.format(where=where), place))
    return RunPage(rows, count_of(connection, _COUNT.format(where=where), place))


def run_choices(connection: sqlite3.Connection, wanted: RunFilter) -> RunChoices:
    """Count the runs of a tenant by status, and name the agents that have done them."""
    statuses = {row["name"]: row["count"] for row in rows_of(connection, _STATUSES, vars(wanted))}
    return RunChoices(statuses, [str(row[0]) for row in connection.execute(_AGENTS, vars(wanted))])


def unanswered(connection: sqlite3.Connection, wanted: RunFilter, which: str = "") -> list[Row]:
    """List the runs that ended with a question which has no answer yet: of a thread, or all new ones."""
    return list(rows_of(connection, _QUESTIONS, {**vars(wanted), "id": which}))


def completed_requests(connection: sqlite3.Connection, tenant: str, longest: int, limit: int) -> list[str]:
    """List what was asked for in words and completed, the newest first, of at most `longest` letters.

    Left out are calls by name, forks and undoings: their requests are not what a person has written.
    """
    return [str(row[0]) for row in connection.execute(_REQUESTS, (tenant, longest, limit))]


def threads_with_state(
    connection: sqlite3.Connection, tenant: str, after: int, thread_id: str, most: int
) -> list[tuple[int, str, str]]:
    """List threads of a tenant whose conversation is there: the number of their newest run, id and title.

    One by its id is there, too, while a run of it waits for its turn; else those with runs `after` a number.
    """
    which = _BY_ID if thread_id else _NEWER
    place = {"tenant": tenant, "thread": thread_id, "after": after, "most": most}
    rows = connection.execute(_THREADS.format(which=which), place)
    return [(int(row[0]), str(row[1]), str(row[2])) for row in rows]
