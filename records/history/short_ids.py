"""Ids by their beginning: of runs and threads, and of gates that are open."""

from __future__ import annotations

import sqlite3
from typing import Literal

Kind = Literal["run", "gate"]
_STARTS = "{id} >= :name AND {id} < :after"
_LAST = chr(0x10FFFF)  # no id has it, and it comes after all that one may have
_BEGINNING = {
    "run": f"""SELECT run_id AS id FROM runs WHERE {_STARTS.format(id="run_id")}
        UNION SELECT thread_id FROM runs WHERE {_STARTS.format(id="thread_id")} LIMIT :most""",
    "gate": f"""SELECT gate_id AS id FROM gates WHERE status = 'open' AND {_STARTS.format(id="gate_id")}
        UNION SELECT thread_id FROM gates WHERE status = 'open' AND {_STARTS.format(id="thread_id")}
        LIMIT :most""",
}
_NEWEST = {
    "run": "SELECT thread_id FROM runs ORDER BY rowid DESC LIMIT 1",
    "gate": "SELECT gate_id FROM gates WHERE status = 'open' ORDER BY rowid DESC LIMIT 1",
}


def ids_beginning(connection: sqlite3.Connection, kind: Kind, name: str, most: int) -> list[str]:
    """List at most so many ids, of runs or gates and of their threads, that begin with a text."""
    rows = connection.execute(_BEGINNING[kind], {"name": name, "after": name + _LAST, "most": most})
    return [str(row[0]) for row in rows]


def newest_id(connection: sqlite3.Connection, kind: Kind) -> str | None:
    """Name the thread of the newest run, or the newest gate; None where there is none."""
    row = connection.execute(_NEWEST[kind]).fetchone()
    return None if row is None else str(row[0])
