"""Seal a run in the transaction that ends it: its record, and a digest of each of its rows."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from pydantic import BaseModel, ConfigDict, JsonValue

from planwright.records.audit.decision_record import DecisionRecord
from planwright.records.audit.record_of_run import questions_of, record_of
from planwright.store.audit_chain import append
from planwright.store.engines.engine import ask_ahead
from planwright.store.sealed_rows import LAYOUT, TABLES

_LATEST = "SELECT content FROM audit WHERE kind = 'run' AND run_id = ? ORDER BY n DESC LIMIT 1"


class Seal(BaseModel):
    """What the chain has of a run that has ended."""

    model_config = ConfigDict(frozen=True)
    layout: int
    """Version of the lists of tables and columns that the digests are of."""
    record: DecisionRecord
    """The record of the run."""
    rows: dict[str, dict[str, str]]
    """Digests of the rows of the run, by table and key; tables without any are left out."""


def seal(connection: sqlite3.Connection, run_id: str, at: datetime) -> None:
    """Append the seal of a run that has ended; one that has it gets another where its rows have changed."""
    sealed = seal_of(connection, run_id)
    if sealed != latest_seal(connection, run_id):
        content: dict[str, JsonValue] = sealed.model_dump(mode="json")
        append(connection, "run", (sealed.record.tenant, run_id), run_id, content, at)


def latest_seal(connection: sqlite3.Connection, run_id: str) -> Seal | None:
    """Read the newest seal of a run; None where it has none."""
    row = connection.execute(_LATEST, (run_id,)).fetchone()
    return None if row is None else Seal.model_validate_json(row[0])


def seal_of(connection: sqlite3.Connection, run_id: str) -> Seal:
    """Make the seal of a run from its rows as they are now."""
    of_tables = ((table.query_of_run, (run_id,)) for table in TABLES.values())
    ask_ahead(connection, *of_tables, *questions_of(run_id), (_LATEST, (run_id,)))
    rows = {name: table.of_run(connection, run_id) for name, table in TABLES.items()}
    return Seal(
        layout=LAYOUT,
        record=record_of(connection, run_id),
        rows={name: digests for name, digests in rows.items() if digests},
    )
