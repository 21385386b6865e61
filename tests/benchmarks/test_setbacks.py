"""The short form of `setbacks`: logs that are damaged, files and servers that are set back."""

from __future__ import annotations

import json
import os
import random
import sqlite3
from pathlib import Path

import pytest

from benchmarks.damaged_logs import DAMAGES, HEADER, Damage
from tests.forked import Forked
from tests.patience import PATIENCE_S
from tests.sampling import examples

ROOT = Path(__file__).parents[2]
SHAPES = ["--shape", "a sequence", "--shape", "a loop"]


def bench(folder: Path, *options: str) -> tuple[int, str, dict[str, int]]:
    """Run the benchmark in a process of its own, because it forks."""
    path = folder / "setbacks.json"
    with Forked("benchmarks.setbacks", "--json", str(path), *options, folder=ROOT, env=os.environ) as process:
        code = process.wait(PATIENCE_S)
        assert path.exists(), process.stderr
        return code, process.stdout, json.loads(path.read_text())


@pytest.mark.long
def test_nothing_is_made_again_without_a_person_who_was_told(tmp_path: Path) -> None:
    count = examples(16)
    code, printed, figures = bench(tmp_path, "--logs", str(count), "--stores", "2", *SHAPES)
    assert (code, figures["logs"], figures["stores"]) == (0, count, 2), printed
    assert figures["missed"] == figures["doubled_unseen"] == figures["doubled"] == 0
    assert 0 < figures["lacking"] <= figures["told"]


@pytest.mark.sweep
def test_servers_that_are_set_back_are_noticed(tmp_path: Path) -> None:
    code, printed, figures = bench(tmp_path, "--logs", "0", "--stores", "10", *SHAPES)
    assert (code, figures["stores"], figures["missed"]) == (0, 10, 0), printed
    assert figures["lacking"] > 0


@pytest.mark.sweep
def test_without_the_mark_the_benchmark_fails(tmp_path: Path) -> None:
    code, _, figures = bench(tmp_path, "--logs", "6", "--stores", "3", "--unmarked", *SHAPES)
    assert (code, figures["told"]) == (1, 0)
    assert figures["missed"] > 0


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_each_damage_changes_a_log(damage: Damage, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE notes (text TEXT)")
    for number in range(50):
        connection.execute("INSERT INTO notes VALUES (?)", (str(number) * 900,))
    data = (tmp_path / "x.db-wal").read_bytes()
    connection.close()
    changed = 0
    for seed in range(8):
        (log := tmp_path / "log").write_bytes(data)
        assert damage(log, random.Random(seed))
        changed += not log.exists() or log.read_bytes() != data
    assert changed >= 7
    assert len(data) > HEADER
