"""The sweep over replies whose calls use one world, in short; it sees when the order is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.replies import sweep, without_order


@pytest.mark.long
def test_replies_end_as_if_their_calls_were_made_one_by_one(tmp_path: Path) -> None:
    report = sweep(26, 1, 5, tmp_path)
    assert (report.failures, report.overlaps, report.reads_alone) == ([], 0, 0)
    assert (report.replies, report.kills) == (26, 1)
    assert report.gates > 3
    assert report.reads_beside > 10
    assert report.effects > 2 * report.held_back > 0


def test_a_missing_order_shows(tmp_path: Path) -> None:
    with without_order():
        report = sweep(10, 0, 5, tmp_path)
    assert report.failures
    assert report.overlaps
