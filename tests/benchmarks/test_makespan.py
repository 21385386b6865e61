"""The makespan benchmark: list schedules are right, and a small plan is timed end to end."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
from graphlib import CycleError
from pathlib import Path
from types import ModuleType

import pytest

from tests.patience import PATIENCE_S

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "makespan.py"


@pytest.fixture(scope="module")
def makespan() -> ModuleType:
    """Load the script by its path: benchmarks are not installed."""
    spec = importlib.util.spec_from_file_location("makespan_benchmark", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_steps_without_dependencies_run_side_by_side(makespan: ModuleType) -> None:
    assert makespan.list_schedule({"a": 2, "b": 3, "c": 1}, {}, 3) == 3


def test_one_slot_runs_everything_in_turn(makespan: ModuleType) -> None:
    assert makespan.list_schedule({"a": 2, "b": 3, "c": 1}, {}, 1) == 6


def test_a_chain_takes_its_sum_however_many_slots_there_are(makespan: ModuleType) -> None:
    assert makespan.list_schedule({"a": 2, "b": 3, "c": 1}, {"b": ["a"], "c": ["b"]}, 8) == 6


def test_slots_batch_a_wide_plan_and_its_join_comes_last(makespan: ModuleType) -> None:
    leaves = [f"w{n}" for n in range(64)]
    durations = dict.fromkeys([*leaves, "join"], 100)
    assert makespan.list_schedule(durations, {"join": leaves}, 8) == 900
    assert makespan.list_schedule(durations, {"join": leaves}, 64) == 200


def test_a_diamond_takes_its_longest_way_through(makespan: ModuleType) -> None:
    needs = {"b": ["a"], "c": ["a"], "d": ["a"], "e": ["b", "c", "d"]}
    assert makespan.list_schedule({"a": 100, "b": 150, "c": 200, "d": 50, "e": 100}, needs, 3) == 400


def test_a_freed_slot_is_taken_at_once_without_waiting_for_the_wave(makespan: ModuleType) -> None:
    durations = {"slow": 4, "fast": 1, "next": 3}
    assert makespan.list_schedule(durations, {"next": ["fast"]}, 2) == 4


def test_a_greedy_schedule_takes_steps_in_the_order_they_became_ready(makespan: ModuleType) -> None:
    """Longest first would need 4; greedy, first come first served, needs 5."""
    assert makespan.list_schedule({"a": 1, "b": 1, "c": 2, "d": 4}, {}, 2) == 5


def test_nothing_takes_no_time(makespan: ModuleType) -> None:
    assert makespan.list_schedule({}, {}, 1) == 0


def test_a_schedule_without_slots_is_refused(makespan: ModuleType) -> None:
    with pytest.raises(ValueError, match="at least one slot"):
        makespan.list_schedule({"a": 1}, {}, 0)


def test_a_cycle_is_refused(makespan: ModuleType) -> None:
    with pytest.raises(CycleError):
        makespan.list_schedule({"a": 1, "b": 1}, {"a": ["b"], "b": ["a"]}, 2)


def test_every_shape_loses_no_step_between_its_naps_and_its_plan(makespan: ModuleType) -> None:
    for shape in makespan.shapes():
        steps = json.loads(makespan.plan_reply(shape))["steps"]
        assert {step["id"]: tuple(step["depends_on"]) for step in steps} == {
            step: tuple(shape.needs.get(step, ())) for step in shape.naps
        }


def test_the_crossed_chains_are_where_waves_lose(makespan: ModuleType) -> None:
    """Three waves of 300 ms and a join, against a longest chain of 650 ms and a join."""
    crossed = next(shape for shape in makespan.shapes() if shape.name == "crossed")
    assert crossed.list_schedule_s == crossed.critical_path_s == pytest.approx(0.67)


async def test_a_small_plan_is_timed_from_start_to_completion(makespan: ModuleType, tmp_path: Path) -> None:
    shape = makespan.Shape("small", {"a": 30, "b": 30, "c": 30}, {"c": ("a", "b")}, 10.0)
    async with asyncio.timeout(PATIENCE_S):
        row = await makespan.measure(shape, tmp_path, repeat=1)
    assert row.ratio("dataflow") >= 0.95
    assert row.ratio("waves") >= 0.95
    assert set(makespan.numbers([row])) == {
        "small_dataflow",
        "small_waves",
        "small_critical_path",
        "critical_path_worst",
    }


async def test_recorded_naps_are_effects_in_the_ledger(makespan: ModuleType, tmp_path: Path) -> None:
    shape = makespan.Shape("small", {"a": 1, "b": 1}, {}, 10.0, capability="bench.nap_recorded")
    agent = makespan.open_bench_agent(shape, "dataflow", tmp_path, 1)
    async with asyncio.timeout(PATIENCE_S):
        await makespan.time_plan(agent)
    query = "SELECT count(*) FROM effects WHERE status = 'done'"
    assert agent.stores.database.call("read", lambda c: c.execute(query).fetchone()[0]) == 2
    agent.close()


def test_results_join_a_file_and_leave_its_other_numbers(makespan: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    path.write_text('{"other": 1, "fan3_waves": 9}')
    makespan.join_results(path, {"fan3_waves": 1.05})
    assert json.loads(path.read_text()) == {"other": 1, "fan3_waves": 1.05}


def test_results_refuse_a_file_that_holds_no_object(makespan: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    path.write_text("[1]")
    with pytest.raises(ValueError, match="no JSON object"):
        makespan.join_results(path, {"fan3_waves": 1.05})
    assert path.read_text() == "[1]"
