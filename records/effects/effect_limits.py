"""The limits of a run on its effects: how many in all, and how many a minute that nobody decided over."""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta

from planwright.domain.errors import BudgetExceeded
from planwright.settings.agents import RunBudgetSettings


def refuse_more_effects(
    connection: sqlite3.Connection, run_id: str, unasked: bool, at: datetime, limits: RunBudgetSettings
) -> None:
    """Raise BudgetExceeded when a run, or a minute without a person, has had all its effects."""
    query = "SELECT count(*) FROM effects WHERE run_id = ?"
    had = connection.execute(query, (run_id,)).fetchone()[0] if limits.effects is not None else 0
    if limits.effects is not None and had >= limits.effects:
        raise _too_many(limits, "effects", f"the run has had {had} effects")
    if limits.effects_per_minute is None or not unasked:
        return
    since = (at - timedelta(minutes=1)).isoformat()
    query = f"{query} AND unasked = 1 AND intended_at > ? AND intended_at <= ?"
    had = connection.execute(query, (run_id, since, at.isoformat())).fetchone()[0]
    if had >= limits.effects_per_minute:
        raise _too_many(limits, "effects_per_minute", f"{had} effects in a minute, and nobody was asked")


def _too_many(limits: RunBudgetSettings, name: str, cause: str) -> BudgetExceeded:
    setting = limits.setting(name)
    return BudgetExceeded(
        setting,
        f"{cause}; {setting} allows {getattr(limits, name)}",
        f"raise {setting} in planwright.toml, then run again",
    )
