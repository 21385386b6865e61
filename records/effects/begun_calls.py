"""Calls that were begun and not heard of, as whoever asks their receivers needs them."""

from __future__ import annotations

import json
import sqlite3

from planwright.domain.lease import Lease
from planwright.records.effects.ledger import EffectCall
from planwright.store.database import Database
from planwright.store.owners import living_sender


async def begun_call(database: Database, lease: Lease, uid: str) -> EffectCall | None:
    """Read the call of a step that was begun and not heard of.

    None where there is none, and while another process lives that may be sending it.
    """
    query = "SELECT * FROM effects WHERE run_id = ? AND step_uid = ? AND status = 'intent'"

    def job(connection: sqlite3.Connection) -> EffectCall | None:
        row = connection.execute(f"{query} ORDER BY rowid DESC LIMIT 1", (lease.run_id, uid)).fetchone()
        if row is None or living_sender(connection, row["owner"], lease.owner):
            return None
        return EffectCall(
            lease=lease,
            step_uid=uid,
            capability=row["capability"],
            effect=row["effect"],
            args=json.loads(row["args"]),
            attempt=row["attempt"],
            ordinal=row["ordinal"],
            first_key=row["first_key"],
        )

    return await database.read(job)
