"""The bench writes every figure, and what failed, and ends with 1 when a bar is missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.bench import MEASURES, exit_code, table_of
from benchmarks.bench_memory import SESSIONS
from benchmarks.bench_start import recovery_ms
from benchmarks.figures import Figure, as_json

MET = Figure("P4", "ratio", 1.2, 1.5, note="12 ms over 10 ms")
MISSED = Figure("P4", "ratio", 1.6, 1.5)


def test_a_miss_and_a_failure_end_with_1() -> None:
    assert exit_code([MET], []) == 0
    assert exit_code([MET, MISSED], []) == 1
    assert exit_code([MET], ["turns: RuntimeError"]) == 1


def test_each_figure_stands_in_the_table_and_in_the_file() -> None:
    assert table_of([MET, MISSED]).row_count == 2
    assert [row["missed"] for row in as_json([MET, MISSED])] == [False, True]


def test_each_measure_is_a_module_of_its_own() -> None:
    here = Path(__file__).parents[2] / "benchmarks"
    assert {path.stem.removeprefix("bench_") for path in here.glob("bench_*.py")} == MEASURES.keys()
    assert SESSIONS == 100


@pytest.mark.long
async def test_a_killed_run_goes_on_in_a_process_that_was_there_before(tmp_path: Path) -> None:
    assert len(await recovery_ms(tmp_path, 1)) == 1
