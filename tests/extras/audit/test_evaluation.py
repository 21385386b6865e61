"""Figures of past runs, counted by hand beside."""

from __future__ import annotations

import sqlite3

import pytest

from planwright.extras.audit.evaluation import RunCounts, counts_by

pytestmark = pytest.mark.sqlite  # its stores last longer than a test


def test_an_approved_run_is_counted_and_one_that_waits_is_not(store: sqlite3.Connection) -> None:
    (counts,) = counts_by(store, "all").values()
    whole = (counts.runs, counts.plans, counts.plans_ok, counts.steps, counts.steps_ok, counts.safe)
    assert whole == (1, 1, 1, 1, 1, 1)
    assert (counts.retried, counts.recovered, counts.escalated, counts.lanes, counts.replanned) == (0,) * 5
    assert counts.safe_seconds > 0
    assert counts.tokens > 0
    rates = counts.rates()
    assert (rates["plan_pass"], rates["step_completion"], rates["recovery"]) == (1, 1, None)


def test_runs_are_grouped_by_week_model_agent_and_risk(store: sqlite3.Connection) -> None:
    store.execute("UPDATE runs SET started_at = '2026-01-01T10:00:00+00:00'")
    assert list(counts_by(store, "week")) == ["2026-W01"]
    assert list(counts_by(store, "model")) == ["embedded/planwright-offline"]
    assert list(counts_by(store, "agent")) == ["(none)"]
    assert list(counts_by(store, "risk")) == ["Medium"]
    assert counts_by(store, "all", since="2026-01-02") == {}


def test_failures_retries_and_escalations_count(store: sqlite3.Connection) -> None:
    store.execute("UPDATE steps SET status = 'failed', result = json_set(result, '$.attempts', 3)")
    store.execute("UPDATE gates SET kind = 'escalation' WHERE status = 'approved'")
    store.execute("UPDATE verdicts SET content = json_set(content, '$.replan_attempts', 2)")
    (counts,) = counts_by(store, "all").values()
    assert (counts.steps_ok, counts.retried, counts.recovered) == (0, 1, 0)
    assert (counts.escalated, counts.replanned) == (1, 1)


def test_counts_add_up() -> None:
    both = RunCounts(runs=1, safe=1, safe_seconds=2) + RunCounts(runs=3, safe=1, safe_seconds=4)
    assert (both.runs, both.rates()["safe_seconds"]) == (4, 3)
