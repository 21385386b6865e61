"""Refusals: calls that a person said no to, or that nobody decided over in time."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import Literal

from planwright.checkpoints.database import Database
from planwright.graph.chains import CREATE_CHAIN

_REFUSED = """SELECT status, decided_by, reason, shown FROM gates
    WHERE run_id = ? AND kind = 'step' AND status IN ('rejected', 'expired') ORDER BY rowid"""
# A chain is gone with its run: making one changes nothing. An effect that failed was not refused.
_BEGUN = f"SELECT 1 FROM effects WHERE run_id = ? AND capability != '{CREATE_CHAIN}'"
_DONE = "SELECT 1 FROM steps WHERE run_id = ? AND status = 'completed'"


@dataclass(frozen=True)
class Refusal:
    """One call that was not made, and who said so; nobody where its time ran out."""

    capability: str
    effect: str
    status: Literal["rejected", "expired"]
    by: str = ""
    reason: str = ""

    def __str__(self) -> str:
        if self.status == "expired":
            return f"{self.capability} was not done: nobody decided in time."
        because = f": {self.reason}" if self.reason else ""
        return f"{self.capability} was rejected by {self.by}{because}."


class Refusals:
    """Read from the records whether a run was kept from all that it was for."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_all_effects(self, run_id: str) -> list[Refusal]:
        """List what was refused in a run that did nothing else but reading; empty for any other run.

        Refused reads alone count only where nothing at all was done.
        """

        def job(connection: sqlite3.Connection) -> list[Refusal]:
            refused = [_refusal(row) for row in connection.execute(_REFUSED, (run_id,))]
            if not refused or connection.execute(_BEGUN, (run_id,)).fetchone():
                return []
            if all(entry.effect == "pure" for entry in refused):
                return [] if connection.execute(_DONE, (run_id,)).fetchone() else refused
            return refused

        return await self._database.run("read", job)


def ends_with(refused: list[Refusal]) -> Literal["rejected", "expired"]:
    """Name how a run ends whose every effect was refused: a person's no counts more than no answer."""
    return "rejected" if any(entry.status == "rejected" for entry in refused) else "expired"


def _refusal(row: sqlite3.Row) -> Refusal:
    shown = json.loads(row["shown"])
    return Refusal(
        capability=str(shown.get("capability")),
        effect=str(shown.get("effect")),
        status=row["status"],
        by=row["decided_by"] or "",
        reason=row["reason"] or "",
    )
