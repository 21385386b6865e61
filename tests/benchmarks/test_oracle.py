"""The short form of `oracle`: random plans against the written rules, and mistakes it has to see."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.forked import Forked

ROOT = Path(__file__).parents[2]


def bench(folder: Path, *options: str) -> tuple[int, str, dict[str, float]]:
    """Run the benchmark in a process of its own, because it forks."""
    path = folder / "oracle.json"
    given = ("--json", str(path), *options)
    with Forked("benchmarks.oracle", *given, folder=ROOT, env={**os.environ, "COLUMNS": "120"}) as process:
        code = process.wait(300)
        assert path.exists(), process.stderr
        return code, process.stdout, json.loads(path.read_text())


@pytest.mark.long
def test_random_plans_end_as_the_written_rules_say(tmp_path: Path) -> None:
    code, printed, figures = bench(tmp_path, "--runs", "12")
    assert (code, figures["runs"], figures["different"], figures["twice"]) == (0, 12, 0, 0), printed
    assert figures["planned_again"] > 0


@pytest.mark.sweep
@pytest.mark.parametrize("mistake", ["cascade", "repeat"])
def test_a_planted_mistake_is_seen(tmp_path: Path, mistake: str) -> None:
    code, _, figures = bench(tmp_path, "--runs", "6", "--planted", mistake)
    assert code == 1
    assert figures["different"] > 0
    assert mistake != "repeat" or figures["twice"] > 0
