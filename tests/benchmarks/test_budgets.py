"""A short form of `budgets`: few processes and calls, and a judge that sees an overspend."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import budgets
from benchmarks.spending import KINDS

PROCESSES, CALLS, KILLS = 4, 12, 1


@pytest.mark.parametrize("number", range(len(KINDS)), ids=KINDS)
def test_processes_spend_a_limit_and_no_more(number: int, tmp_path: Path) -> None:
    trial = budgets.play(budgets.plan(tmp_path, number, PROCESSES, CALLS, KILLS, seed=7), KILLS)
    assert (trial.kind, trial.wrong) == (KINDS[number], [])
    assert trial.granted + trial.put_off + trial.refused == PROCESSES * CALLS
    assert 0 < trial.most - trial.used < 150
    assert trial.held_by_killed > 0


def test_processes_that_do_not_keep_to_the_limit_are_seen(tmp_path: Path) -> None:
    first, *others = budgets.plan(tmp_path, 1, PROCESSES, CALLS, 0, seed=7)
    loose = [replace(order, most=10 * order.most) for order in others]
    trial = budgets.play([replace(first, most=first.most // 4), *loose], 0)
    assert any(wrong.startswith("overspent") for wrong in trial.wrong)
