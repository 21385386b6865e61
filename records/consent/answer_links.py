"""Links in messages that take one answer at one gate in the name of one person, without a sign-in.

A link is 256 random bits; the store has its SHA-256 alone, with what it is bound to: the gate, the hash of
what it shows, and a person. It ends with the gate, which closes by every answer, or has that person's.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from dataclasses import dataclass
from datetime import datetime

from planwright.domain.errors import GateError
from planwright.records.consent.gate import Gate
from planwright.records.consent.gates import Gates
from planwright.store.database import Database

_ADD = """INSERT INTO answer_links (digest, gate_id, run_id, tenant, answer_hash, person, made_at)
    VALUES (?,?,?,?,?,?,?)"""
_UNKNOWN = ("there is no such link", "open the newest message, or sign in")


@dataclass(frozen=True)
class AnswerLink:
    """What a link is good for."""

    gate: Gate
    """The gate that it answers, which is open."""
    person: str
    """In whose name."""


class AnswerLinks:
    """The table of links that take an answer."""

    def __init__(self, database: Database, gates: Gates) -> None:
        self._database = database
        self._gates = gates

    async def make(self, gate: Gate, person: str, at: datetime) -> str:
        """Make a link for a person to a gate; the end of its address is returned, and kept nowhere.

        Raises StoreFailed.
        """
        token = secrets.token_urlsafe(32)
        of_gate = (gate.gate_id, gate.run_id, gate.tenant, gate.answer_hash)
        row = (_digest(token), *of_gate, person, at.isoformat())
        await self._database.run("notice", lambda connection: connection.execute(_ADD, row).rowcount)
        return token

    async def find(self, token: str, now: datetime) -> AnswerLink:
        """Find what a link is good for.

        Raises GateError for one that was never made, whose gate is closed, or shows something else by now.
        """

        def job(connection: sqlite3.Connection) -> sqlite3.Row | None:
            query = "SELECT gate_id, answer_hash, person FROM answer_links WHERE digest = ?"
            row: sqlite3.Row | None = connection.execute(query, (_digest(token),)).fetchone()
            return row

        row = await self._database.read(job)
        if row is None:
            raise GateError(*_UNKNOWN)
        gate = await self._gates.read(row["gate_id"])
        if gate.status != "open":
            by = f" by {gate.decided_by}" if gate.decided_by else ""
            raise GateError(f"this was decided already: {gate.status}{by}", "sign in to see what came of it")
        if gate.expires_at <= now:
            raise GateError("this link is over: nobody decided in time", "sign in to see what came of it")
        if gate.answer_hash != row["answer_hash"]:
            raise GateError("the gate shows something else by now", "open the newest message")
        if any(approval.by == row["person"] for approval in gate.approvals):
            raise GateError(f"{row['person']} has approved this already", "others have to, too")
        return AnswerLink(gate, row["person"])


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
