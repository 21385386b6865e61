"""The limits of a run on its effects: how many in all, and how many a minute that nobody decided over."""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta

from planwright.domain.errors import BudgetExceeded
from planwright.domain.shortage import Shortage
from planwright.settings.agents import RunBudgetSettings
from planwright.store.database import Database

COUNT_EFFECTS = "SELECT count(*) FROM effects WHERE run_id = ?"
"""Counts the effects of a run."""


def refuse_more_effects(
    connection: sqlite3.Connection, run_id: str, unasked: bool, at: datetime, limits: RunBudgetSettings
) -> None:
    """Raise BudgetExceeded when a run, or a minute without a person, has had all its effects."""
    had = count_effects(connection, run_id) if limits.effects is not None else 0
    if limits.effects is not None and had >= limits.effects:
        raise too_many_effects(limits, had)
    if limits.effects_per_minute is None or not unasked:
        return
    since = (at - timedelta(minutes=1)).isoformat()
    query = f"{COUNT_EFFECTS} AND unasked = 1 AND intended_at > ? AND intended_at <= ?"
    had = connection.execute(query, (run_id, since, at.isoformat())).fetchone()[0]
    if had >= limits.effects_per_minute:
        raise _too_many(limits, "effects_per_minute", f"{had} effects in a minute, and nobody was asked")


def count_effects(connection: sqlite3.Connection, run_id: str) -> int:
    """Count the effects of a run, those that failed included."""
    return int(connection.execute(COUNT_EFFECTS, (run_id,)).fetchone()[0])


async def effects_had(run_id: str, database: Database) -> int:
    """Count the effects of a run, as they are on record by now."""
    return await database.read(lambda connection: count_effects(connection, run_id))


def too_many_effects(limits: RunBudgetSettings, had: int) -> BudgetExceeded:
    """Say that a run has had all its effects."""
    return _too_many(limits, "effects", f"the run has had {had} effects")


def _too_many(limits: RunBudgetSettings, name: str, cause: str) -> BudgetExceeded:
    setting = limits.setting(name)
    return BudgetExceeded(
        setting,
        f"{cause}; {setting} allows {getattr(limits, name)}",
        f"raise {setting} in planwright.toml, then run again",
        Shortage(name, getattr(limits, name), 1),
    )
