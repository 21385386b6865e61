"""A short form of `waiting_runs`: the counts are right. How long it takes is for the benchmark to say."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import waiting_runs


@pytest.mark.long
def test_every_command_tells_how_many_runs_wait(tmp_path: Path) -> None:
    waiting_runs.fill(tmp_path, 412)
    measured = waiting_runs.measure(tmp_path, 412)
    assert [row["command"] for row in measured if row["right"]] == [
        " ".join(w) for w in waiting_runs.COMMANDS
    ]
