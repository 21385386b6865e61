"""How often each always-allow rule was used: counted with the decisions it makes, so never over its limit."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from planwright.domain.errors import GateError
from planwright.store.database import Database


class RuleUse(BaseModel):
    """One rule that allows calls of a gate."""

    model_config = ConfigDict(frozen=True)
    rule_id: str
    """Id of the rule."""
    calls: int
    """How many calls of the gate it allows."""
    most: int | None = None
    """How many calls it allows in all; None for any number."""


def count_uses(connection: sqlite3.Connection, gate_id: str, uses: Sequence[RuleUse]) -> None:
    """Count what a gate takes of each rule. Raises GateError where a rule allows fewer than that."""
    for use in uses:
        query = "SELECT coalesce(sum(calls), 0) FROM rule_uses WHERE rule_id = ?"
        (count,) = connection.execute(query, (use.rule_id,)).fetchone()
        if use.most is not None and count + use.calls > use.most:
            cause = f"rule {use.rule_id} allows {use.most} calls, and {count} are made"
            raise GateError(cause, "decide over this one: planwright ls --waiting")
        row = (use.rule_id, gate_id, use.calls)
        connection.execute("INSERT INTO rule_uses (rule_id, gate_id, calls) VALUES (?,?,?)", row)


class RuleUses:
    """The table of uses."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def counts(self) -> dict[str, int]:
        """Count the calls that each rule has allowed, by its id; a rule that allowed none is not there."""
        query = "SELECT rule_id, sum(calls) FROM rule_uses GROUP BY rule_id"
        rows = await self._database.read(lambda c: c.execute(query).fetchall())
        return {row[0]: int(row[1]) for row in rows}
