"""Memories that runs have proposed, and what was decided about them, by tenant."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from datetime import datetime

from planwright.domain.errors import RunError
from planwright.domain.lease import Lease
from planwright.domain.memory_proposal import Candidate, Proposal, content_id
from planwright.store.database import Database
from planwright.store.fencing import held


class Proposals:
    """The table of proposals. One that was made once is never made again, whatever became of it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_run(self, run_id: str) -> tuple[list[Proposal], bool]:
        """Read what a run has proposed, and whether it has written or forgotten memories by itself."""

        def job(connection: sqlite3.Connection) -> tuple[list[Proposal], bool]:
            return _of_run(connection, run_id), _dealt_with(connection, run_id)

        return await self._database.read(job, behind=())

    async def propose(self, lease: Lease, candidates: Sequence[Candidate], at: datetime) -> list[Proposal]:
        """Write down what is new among the candidates of a run, in one transaction; return what it proposes.

        New is what is not remembered and was never proposed, neither in these words nor out of them. After
        a crash the first answer counts.
        """

        def job(connection: sqlite3.Connection) -> list[Proposal]:
            if not _of_run(connection, lease.run_id):
                for candidate in candidates:
                    _add(connection, lease, candidate, at)
            return _of_run(connection, lease.run_id)

        return await self._database.run("propose", held(lease, job))

    async def add(self, lease: Lease, candidate: Candidate, at: datetime) -> str:
        """Write down one more candidate of a run, if it is new, and return the id of its proposal."""

        def job(connection: sqlite3.Connection) -> None:
            _add(connection, lease, candidate, at)

        await self._database.run("propose", held(lease, job))
        return content_id(candidate.text)

    async def settle(self, lease: Lease, at: datetime) -> list[Proposal]:
        """Mark what a run has written to memory as accepted, and return the proposals that became so."""

        def memories(connection: sqlite3.Connection) -> list[sqlite3.Row]:
            query = "SELECT id, text FROM memories WHERE run_id = ? AND tenant = ?"
            return connection.execute(query, (lease.run_id, lease.tenant)).fetchall()

        def job(connection: sqlite3.Connection) -> list[Proposal]:
            run_id, tenant = lease.run_id, lease.tenant
            written = memories(connection)
            for memory in written:
                connection.execute(
                    "UPDATE proposals SET status = 'accepted', memory_id = ?, decided_by = ?, decided_at = ?"
                    " WHERE tenant = ? AND id = ? AND status IN ('proposed', 'rejected')",
                    (memory["id"], run_id, at.isoformat(timespec="seconds"))
                    + (tenant, content_id(memory["text"])),
                )
            accepted = """SELECT * FROM proposals WHERE tenant = ? AND memory_id = ? AND decided_by = ?
                AND status = 'accepted'"""
            places = ((tenant, memory["id"], run_id) for memory in written)
            return [read_proposal(row) for place in places for row in connection.execute(accepted, place)]

        if not await self._database.read(memories, behind=()):
            return []
        return await self._database.run("settle proposals", held(lease, job))

    async def reject(self, id_: str, tenant: str, by: str, at: datetime) -> Proposal:
        """Turn a proposal down. Raises RunError when there is none, or it was decided on."""

        def job(connection: sqlite3.Connection) -> Proposal:
            query = "SELECT * FROM proposals WHERE tenant = ? AND id = ?"
            row = connection.execute(query, (tenant, id_)).fetchone()
            if row is None or row["status"] != "proposed":
                raise not_open(id_, row and row["status"])
            connection.execute(
                "UPDATE proposals SET status = 'rejected', decided_by = ?, decided_at = ?"
                " WHERE tenant = ? AND id = ?",
                (by, at.isoformat(timespec="seconds"), tenant, id_),
            )
            return read_proposal(connection.execute(query, (tenant, id_)).fetchone())

        return await self._database.run("reject proposal", job)


def forget_words(connection: sqlite3.Connection, tenant: str, memory_id: str) -> None:
    """Take the words out of the proposal that a memory came from; its id stays, so that it stays known."""
    connection.execute(
        "UPDATE proposals SET status = 'forgotten', text = '…', said = '…', tags = '[]', why = ''"
        " WHERE tenant = ? AND memory_id = ?",
        (tenant, memory_id),
    )


def not_open(id_: str, status: str | None) -> RunError:
    """Say why nothing can be decided about a proposal."""
    if status is None:
        return RunError(f"there is no proposal {id_}", "list them: planwright memory proposals")
    return RunError(f"proposal {id_} is {status} already", "see them all: planwright memory proposals --all")


def read_proposal(row: sqlite3.Row) -> Proposal:
    """Read the row of a proposal."""
    return Proposal.model_validate({**dict(row), "tags": json.loads(row["tags"])})


def _add(connection: sqlite3.Connection, lease: Lease, candidate: Candidate, at: datetime) -> None:
    tenant, run_id = lease.tenant, lease.run_id
    ids = (content_id(candidate.text), content_id(candidate.said))
    query = (
        "SELECT 1 FROM proposals WHERE tenant = ? AND id IN (?, ?) UNION ALL"
        " SELECT 1 FROM proposals WHERE tenant = ? AND said_id IN (?, ?)"
        " AND run_id <> ?"  # one sentence may hold two facts
    )
    known = connection.execute(query, (tenant, *ids, tenant, *ids, run_id)).fetchone()
    if known or _remembered(connection, tenant, ids, candidate):
        return
    connection.execute(
        "INSERT INTO proposals (tenant, id, said_id, run_id, thread_id, text, said, tags, why, status,"
        " created_at) VALUES (?,?,?,?,?,?,?,?,?,'proposed',?)",
        (
            tenant,
            *ids,
            run_id,
            lease.thread_id,
            candidate.text,
            candidate.said,
            json.dumps(candidate.tags),
            candidate.why,
        )
        + (at.isoformat(timespec="seconds"),),
    )


def _remembered(
    connection: sqlite3.Connection, tenant: str, ids: tuple[str, str], candidate: Candidate
) -> bool:
    """Say whether a memory says the same; the full-text index finds the few that could."""
    query = (
        "SELECT m.text FROM memories_fts JOIN memories m ON m.rowid = memories_fts.rowid"
        " WHERE memories_fts MATCH ? AND m.tenant = ?"
    )
    matches = {
        " AND ".join(f'"{word}"' for word in re.findall(r"\w+", text))
        for text in (candidate.text, candidate.said)
    }
    rows = [row for match in matches if match for row in connection.execute(query, (match, tenant))]
    return any(content_id(row["text"]) in ids for row in rows)


def _of_run(connection: sqlite3.Connection, run_id: str) -> list[Proposal]:
    query = "SELECT * FROM proposals WHERE run_id = ? ORDER BY rowid"
    return [read_proposal(row) for row in connection.execute(query, (run_id,))]


def _dealt_with(connection: sqlite3.Connection, run_id: str) -> bool:
    query = """SELECT EXISTS (SELECT 1 FROM memories WHERE run_id = :run)
        OR EXISTS (SELECT 1 FROM forgotten WHERE run_id = :run)"""
    return bool(connection.execute(query, {"run": run_id}).fetchone()[0])
