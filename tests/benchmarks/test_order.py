"""The sweep over plans that read and write the same things, in short; it sees when the order is missing."""

from __future__ import annotations

import asyncio
from pathlib import Path

from benchmarks.order import sweep, without_order


def test_plans_end_as_written_in_any_order_they_leave_open(tmp_path: Path) -> None:
    report = asyncio.run(sweep(11, 37, 8, tmp_path, orders=1, by_agent=1))
    assert report.failures == []
    assert report.waits_added > 10
    assert report.steps > 2 * report.failing_steps


def test_a_missing_order_shows(tmp_path: Path) -> None:
    with without_order():
        report = asyncio.run(sweep(4, 37, 8, tmp_path, orders=2, by_agent=0))
    assert report.waits_added == 0
    assert report.failures
