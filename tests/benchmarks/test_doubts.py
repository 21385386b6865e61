"""The short form of `doubts`: blind effects killed in every shape of a run, each decided by a person."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchmarks.doubt_trial import SHAPES
from tests.forked import Forked

ROOT = Path(__file__).parents[2]


def bench(folder: Path, *options: str) -> tuple[int, str, dict[str, float]]:
    """Run the benchmark in a process of its own, because it forks."""
    path = folder / "doubts.json"
    given = ("--json", str(path), *options)
    with Forked("benchmarks.doubts", *given, folder=ROOT, env={**os.environ, "COLUMNS": "120"}) as process:
        code = process.wait(300)
        assert path.exists(), process.stderr
        return code, process.stdout, json.loads(path.read_text())


@pytest.mark.long
def test_a_truthful_person_ends_with_every_effect_once_in_every_shape(tmp_path: Path) -> None:
    code, printed, figures = bench(tmp_path, "--trials", str(len(SHAPES)))
    assert (code, figures["trials"]) == (0, len(SHAPES)), printed
    assert figures["lost"] == figures["doubled"] == figures["wrong"] == 0
    assert figures["killed"] >= len(SHAPES)
    assert figures["asked"] >= len(SHAPES)


@pytest.mark.sweep
@pytest.mark.parametrize(("person", "counted"), [("sure", "lost"), ("hasty", "doubled")])
def test_a_careless_person_makes_the_benchmark_fail(person: str, counted: str, tmp_path: Path) -> None:
    code, _, figures = bench(tmp_path, "--trials", "6", "--person", person)
    assert code == 1
    assert figures[counted] > 0
