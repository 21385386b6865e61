"""Events of a run that nobody works on: whoever changes its row writes them down, in the same transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import datetime

from pydantic import JsonValue

from planwright.domain.events import EventType
from planwright.domain.hashing import json_text


def write_event(
    connection: sqlite3.Connection,
    run_id: str,
    type_: EventType,
    data: Mapping[str, JsonValue],
    at: datetime,
) -> None:
    """Write an event behind the newest of a run.

    Never for a run with a lease: whoever holds that counts the events, and would give the number again.
    """
    query = "SELECT coalesce(max(seq), 0) + 1 FROM journal WHERE run_id = ?"
    seq = connection.execute(query, (run_id,)).fetchone()[0]
    connection.execute(
        "INSERT INTO journal (run_id, thread_id, tenant, seq, ts, type, key, data)"
        " SELECT run_id, thread_id, tenant, ?, ?, ?, ?, ? FROM runs WHERE run_id = ?",
        (seq, at.isoformat(timespec="milliseconds"), type_, f"{type_}:at{seq}", json_text(dict(data)))
        + (run_id,),
    )
