"""What the page of usage shows: every day, and how far each limit is used."""

from __future__ import annotations

from datetime import date

from planwright.extras.audit.evaluation import RunCounts
from planwright.extras.web.view_models.usage_page import (
    charts,
    days_of,
    evaluation_rows,
    limit_rows,
    run_limits,
)
from planwright.records.history.usage_history import Used
from planwright.records.limits import Limit
from planwright.settings.agents import WorkspaceRunBudgetSettings


def test_days_without_use_are_there_and_later_ones_are_not() -> None:
    days = days_of([Used("2026-03-01", calls=2), Used("2026-02-01", calls=9)], date(2026, 3, 2), 3)
    assert [(day.name, day.calls) for day in days] == [
        ("2026-02-28", 0),
        ("2026-03-01", 2),
        ("2026-03-02", 0),
    ]


def test_only_measures_that_are_used_are_drawn() -> None:
    (calls, cost) = charts([Used("2026-03-01", calls=3, cost=250_000_000), Used("2026-03-02", calls=4)])
    assert (calls.title, calls.total, cost.title, cost.total) == ("calls", "7", "cost", "$2.50")
    assert "2026-03-01: $2.50" in cost.picture


def test_a_limit_that_is_near_or_reached_stands_out() -> None:
    rows = limit_rows([Limit("a", "tokens", used, 100) for used in (10, 85, 100)])
    assert ["bar waiting" in row.picture for row in rows] == [False, True, False]
    assert ["bar failed" in row.picture for row in rows] == [False, False, True]
    assert (rows[1].used, rows[1].left) == ("85 tokens", "15 tokens")


def test_limits_of_a_run_are_in_words() -> None:
    limits = dict(run_limits(WorkspaceRunBudgetSettings()))
    assert limits["budgets.run.tokens"] == "200,000 tokens"
    assert limits["budgets.run.cost"] == "no limit"


def test_a_share_of_nothing_is_left_out() -> None:
    (row,) = evaluation_rows({"all": RunCounts(runs=2, steps=4, steps_ok=3)})
    assert [share.text for share in row.shares] == ["75%", "", "0%", "", "0%", "0%", ""]
