"""What runs are given beyond their limits: by an operator, or by who says yes where a limit is reached."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from datetime import datetime
from typing import Literal, get_args

from planwright.domain.clock import LONGEST_S
from planwright.domain.errors import SetupError
from planwright.domain.hashing import json_text

Unit = Literal[
    "tokens",
    "model_calls",
    "tool_calls",
    "cost",
    "wall_clock_s",
    "effects",
    "effects_per_minute",
    "ttl_s",
]
"""What of a run can be extended: a limit of it, or the time after which its session expires."""
UNITS: tuple[Unit, ...] = get_args(Unit)
COUNTED = frozenset[str](("tokens", "model_calls", "tool_calls", "effects", "effects_per_minute"))
"""Those that are counted in whole numbers."""
MOST = 10**12
"""Most of anything that can be given at once."""


def add_extension(
    connection: sqlite3.Connection, run_id: str, amounts: Mapping[str, float], by: str, at: datetime
) -> None:
    """Write down what a run is given, and add it to what it was given before."""
    row = connection.execute("SELECT tenant, extended FROM runs WHERE run_id = ?", (run_id,)).fetchone()
    query = "SELECT coalesce(max(n), 0) FROM extensions WHERE run_id = ?"
    newest = connection.execute(query, (run_id,)).fetchone()[0]
    rows = [
        (run_id, row["tenant"], newest + number, unit, amount, by, at.isoformat())
        for number, (unit, amount) in enumerate(amounts.items(), 1)
    ]
    connection.executemany("INSERT INTO extensions VALUES (?,?,?,?,?,?,?)", rows)
    extended = json.loads(row["extended"] or "{}")
    extended |= {unit: extended.get(unit, 0) + amount for unit, amount in amounts.items()}
    connection.execute("UPDATE runs SET extended = ? WHERE run_id = ?", (json_text(extended), run_id))


def check_amounts(amounts: Mapping[str, float]) -> None:
    """Raise SetupError for what is no amount of a unit to give more of, and for nothing at all."""
    known = ", ".join(UNITS)
    if unknown := [unit for unit in amounts if unit not in UNITS]:
        raise SetupError(f"there is nothing to extend called {unknown[0]!r}", f"one of: {known}")
    for unit, amount in amounts.items():
        number = isinstance(amount, int | float) and not isinstance(amount, bool)
        most = LONGEST_S if unit in ("ttl_s", "wall_clock_s") else MOST
        if not number or not 0 < amount <= most or (unit in COUNTED and amount != int(amount)):
            kind = "a whole number" if unit in COUNTED else "a number"
            text = "a number of that size" if number and abs(amount) > most else f"{amount!r:.50}"
            raise SetupError(
                f"{unit}: {text} is no amount to give more of", f"give {kind} above 0, up to {most:,.0f}"
            )
    if not amounts:
        raise SetupError("nothing is said to be given", f"say what and how much: {known}")
