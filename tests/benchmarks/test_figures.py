"""Figures keep to their bars or miss them, medians are taken in turn, and results join a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.figures import Figure, Job, Spent, in_turn, join_results


def test_a_bar_is_the_most_or_the_least_that_is_good_enough() -> None:
    assert Figure("P1", "ratio", 1.06, 1.05).missed
    assert not Figure("P1", "ratio", 1.05, 1.05).missed
    assert Figure("P3", "times faster", 1.5, 1.6, "least").missed
    assert not Figure("P3", "times faster", 1.6, 1.6, "least").missed
    assert not Figure("P4", "shown only", 99).missed
    assert Figure("P3", "times faster", 2, 1.6, "least").bar_text == "≥ 1.6"


async def test_jobs_are_done_in_turn_and_the_first_round_does_not_count() -> None:
    order: list[str] = []
    costs = {"a": iter([9.0, 1.0, 3.0, 2.0]), "b": iter([9.0, 5.0, 5.0, 5.0])}

    def job(name: str) -> Job:
        async def do() -> Spent:
            order.append(name)
            return Spent(next(costs[name]), 0.5)

        return do

    medians = await in_turn({"a": job("a"), "b": job("b")}, 3)
    assert order == ["a", "b"] * 4
    assert medians == {"a": Spent(2.0, 0.5), "b": Spent(5.0, 0.5)}


def test_results_join_a_file_and_leave_its_other_numbers(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    path.write_text('{"other": 1, "fan3_waves": 9}')
    join_results(path, {"fan3_waves": 1.05})
    assert json.loads(path.read_text()) == {"other": 1, "fan3_waves": 1.05}


def test_results_refuse_a_file_that_holds_no_object(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    path.write_text("[1]")
    with pytest.raises(ValueError, match="no JSON object"):
        join_results(path, {"fan3_waves": 1.05})
    assert path.read_text() == "[1]"
