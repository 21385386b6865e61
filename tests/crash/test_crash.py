"""Runs that are killed at a commit end as if nothing had happened, and each effect takes place once.

The benchmark runs in a process of its own, because it forks, and a process with threads must not.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.forked import Forked

ROOT = Path(__file__).parents[2]
SAMPLE = 10  # of all that `make bench NAME=crash` plays
LIMIT_S = 1800
IN_A_ROW = "--in-a-row"  # where a test needs the kill to meet one effect: side by side, none may be met


@dataclass(frozen=True)
class Report:
    """What the benchmark printed, wrote down and ended with."""

    code: int
    text: str
    figures: dict[str, float]


def bench(folder: Path, *options: str) -> Report:
    """Run the benchmark in its own process."""
    path = folder / "crash.json"
    given = ("--json", str(path), *options)
    env = {**os.environ, "COLUMNS": "120"}
    with Forked("benchmarks.crash", *given, folder=ROOT, env=env) as process:
        code = process.wait(LIMIT_S)
        assert path.exists(), process.stderr
        return Report(code, process.stdout, json.loads(path.read_text()))


@pytest.mark.long
def test_no_effect_of_a_seeded_sample_of_all_scenarios_is_lost_doubled_or_repeated(tmp_path: Path) -> None:
    report = bench(tmp_path, "--points", str(SAMPLE), "--seed", "7")
    assert report.figures["points"] == SAMPLE
    for count in ("lost", "duplicated", "wrong", "in_doubt_repeated"):
        assert report.figures[count] == 0, report.text
    assert report.code == 0


@pytest.mark.long
def test_a_blind_effect_killed_after_its_intent_is_in_doubt_and_never_repeated(tmp_path: Path) -> None:
    report = bench(tmp_path, "--scenario", "blind", "--only", "intent", IN_A_ROW)
    assert report.figures["in_doubt"] == 1
    assert report.figures["in_doubt_repeated"] == report.figures["duplicated"] == 0
    assert report.code == 0, report.text


@pytest.mark.long
def test_an_idempotent_effect_killed_before_its_record_arrives_again_and_takes_place_once(
    tmp_path: Path,
) -> None:
    report = bench(tmp_path, "--scenario", "idempotent", "--only", "done", IN_A_ROW)
    assert report.figures["sent_again"] == 2
    assert report.figures["duplicated"] == 0
    assert report.code == 0, report.text


@pytest.mark.long
def test_a_queryable_effect_killed_before_its_record_is_looked_up_and_takes_place_once(
    tmp_path: Path,
) -> None:
    report = bench(tmp_path, "--scenario", "queryable", "--only", "done", IN_A_ROW)
    assert report.figures["points"] == 12  # before and after the record of each of six effects
    assert report.figures["lost"] == report.figures["duplicated"] == report.figures["in_doubt"] == 0
    assert report.code == 0, report.text


@pytest.mark.long
def test_a_decision_that_is_durable_is_never_asked_for_again(tmp_path: Path) -> None:
    report = bench(tmp_path, "--scenario", "gated step", "--only", "decision")
    assert report.figures["points"] == 4  # before and after the plan's decision and the step's
    assert report.code == 0, report.text


@pytest.mark.long
@pytest.mark.parametrize(
    ("scenario", "only"),
    [
        pytest.param("second run", "lease", id="a second run, before its first checkpoint"),
        pytest.param("second crash", "lease", id="a second run, after the first one died at its end"),
        pytest.param("idempotent", "+end", id="a run that has ended, before its last checkpoint"),
        pytest.param("exact budget", "reserve", id="a call, in a budget with nothing to spare"),
    ],
)
def test_a_run_killed_in_a_narrow_place_is_recovered(scenario: str, only: str, tmp_path: Path) -> None:
    report = bench(tmp_path, "--scenario", scenario, "--only", only)
    assert report.figures["points"] > 0
    assert report.code == 0, report.text


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "counted", "only", "scenario"),
    [
        ("doubles", "duplicated", "done", "idempotent"),
        ("forgets", "lost", "gate", "idempotent"),
        ("refuses", "wrong", "gate", "idempotent"),
        ("denies", "duplicated", "done", "queryable"),
    ],
)
def test_a_receiver_with_a_fault_makes_the_benchmark_fail(
    fault: str, counted: str, only: str, scenario: str, tmp_path: Path
) -> None:
    few = ("--points", "4", "--seed", "7")
    report = bench(tmp_path, "--scenario", scenario, "--only", only, "--fault", fault, *few, IN_A_ROW)
    assert report.figures[counted] > 0
    assert report.code == 1
