"""What a run needs that only some processes have: tools and a model given in code, modules, MCP servers."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator

from planwright.domain.lease import Lease
from planwright.domain.plan import AGENT, CLOSING
from planwright.domain.verified_step import VerifiedStep
from planwright.store.database import Database
from planwright.store.fencing import ride

_PLAN = """SELECT p.checked, p.gate_id IS NULL OR g.status = 'approved' AS runs,
    g.status IN ('rejected', 'expired') AND coalesce(g.reason, '') = '' AS ends
    FROM plans p LEFT JOIN gates g USING (gate_id)
    WHERE p.run_id = ? AND p.kind = 'plan' ORDER BY p.rowid DESC LIMIT 1"""
_CALLS = """SELECT step_uid, shown FROM gates WHERE run_id = ? AND kind = 'step'
    AND status IN ('open', 'approved')"""


class OwnParts:
    """The table of what was given in code to the process that began a run."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(self, lease: Lease, names: Iterable[str]) -> None:
        """Write down what a run begins with, before it begins."""
        rows = [(lease.run_id, lease.tenant, name) for name in names]

        def job(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "INSERT INTO own_parts (run_id, tenant, name) VALUES (?,?,?) ON CONFLICT DO NOTHING", rows
            )

        if rows:
            ride(self._database, "parts", lease, job)

    async def needed(self, run_id: str) -> frozenset[str]:
        """Name what a process has to have to go on with a run: what it began with, and what it is to call.

        A run whose plan was refused without a word only ends, and needs nothing.
        """

        def job(connection: sqlite3.Connection) -> frozenset[str]:
            plan = connection.execute(_PLAN, (run_id,)).fetchone()
            if plan is not None and plan["ends"]:
                return frozenset()
            own = {name for (name,) in connection.execute(_OWN, (run_id,))}
            to_call = _steps_left(connection, run_id, plan["checked"]) if plan and plan["runs"] else ()
            approved = _calls_left(connection, run_id)
            return frozenset({*own, *to_call, *approved} - {*CLOSING, AGENT})

        return await self._database.read(job, behind=("parts",))


_OWN = "SELECT name FROM own_parts WHERE run_id = ?"


def _steps_left(connection: sqlite3.Connection, run_id: str, checked: str) -> Iterator[str]:
    """Name what the steps of a plan that have not ended will call."""
    ended = _ended(connection, run_id)
    for entry in map(VerifiedStep.model_validate, json.loads(checked)):
        if entry.uid not in ended and entry.chain:
            yield from entry.chain.needs
        elif entry.uid not in ended:
            yield from (entry.step.capability,) if entry.step.capability else entry.step.tool_hints


def _ended(connection: sqlite3.Connection, run_id: str) -> set[str]:
    return {uid for (uid,) in connection.execute("SELECT uid FROM steps WHERE run_id = ?", (run_id,))}


def _calls_left(connection: sqlite3.Connection, run_id: str) -> Iterator[str]:
    """Name what is called once its gate has opened."""
    ended = _ended(connection, run_id)
    for row in connection.execute(_CALLS, (run_id,)):
        card = json.loads(row["shown"])
        for call in card.get("calls") or [card]:
            if call.get("uid", row["step_uid"]) not in ended:
                yield from [part["capability"] for part in call.get("steps") or ()] or [call["capability"]]
