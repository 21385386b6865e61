"""How often each always-allow rule was used: counted with the decisions it makes, so never over its limit."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict

from planwright.domain.errors import GateError
from planwright.store.database import Database

_READ = "SELECT calls FROM rule_uses WHERE rule_id = ?"
_COUNT = """INSERT INTO rule_uses (rule_id, calls) VALUES (?,?)
    ON CONFLICT (rule_id) DO UPDATE SET calls = rule_uses.calls + excluded.calls"""


class RuleUse(BaseModel):
    """One rule that allows calls of a gate."""

    model_config = ConfigDict(frozen=True)
    rule_id: str
    """Id of the rule."""
    calls: int
    """How many calls of the gate it allows."""
    most: int | None = None
    """How many calls it allows in all; None for any number."""


def count_uses(connection: sqlite3.Connection, uses: Sequence[RuleUse]) -> None:
    """Count what a gate takes of each rule. Raises GateError where a rule allows fewer than that."""
    for use in uses:
        row = connection.execute(_READ, (use.rule_id,)).fetchone()
        count = row[0] if row else 0
        if use.most is not None and count + use.calls > use.most:
            cause = f"rule {use.rule_id} allows {use.most} calls, and {count} are made"
            raise GateError(cause, "decide over this one: planwright ls --waiting")
        connection.execute(_COUNT, (use.rule_id, use.calls))


class RuleUses:
    """The table of uses."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def counts(self, rule_ids: Iterable[str]) -> dict[str, int]:
        """Count the calls that rules have allowed, by their ids; a rule that allowed none is not there."""

        def job(connection: sqlite3.Connection) -> dict[str, int]:
            rows = ((id_, connection.execute(_READ, (id_,)).fetchone()) for id_ in rule_ids)
            return {id_: int(row[0]) for id_, row in rows if row}

        return await self._database.read(job)
