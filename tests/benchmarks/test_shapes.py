"""The shapes of plans that are measured, and the list schedule they are held to."""

from __future__ import annotations

import json
from graphlib import CycleError

import pytest

from benchmarks.shapes import Shape, list_schedule, named_shapes, plan_of, random_shape

RANDOM = [random_shape(seed) for seed in range(50)]


def test_steps_without_dependencies_run_side_by_side() -> None:
    assert list_schedule({"a": 2, "b": 3, "c": 1}, {}, 3) == 3


def test_one_slot_runs_everything_in_turn() -> None:
    assert list_schedule({"a": 2, "b": 3, "c": 1}, {}, 1) == 6


def test_a_chain_takes_its_sum_however_many_slots_there_are() -> None:
    assert list_schedule({"a": 2, "b": 3, "c": 1}, {"b": ["a"], "c": ["b"]}, 8) == 6


def test_slots_batch_a_wide_plan_and_its_join_comes_last() -> None:
    leaves = [f"w{n}" for n in range(64)]
    durations = dict.fromkeys([*leaves, "join"], 100)
    assert list_schedule(durations, {"join": leaves}, 8) == 900
    assert list_schedule(durations, {"join": leaves}, 64) == 200


def test_a_diamond_takes_its_longest_way_through() -> None:
    needs = {"b": ["a"], "c": ["a"], "d": ["a"], "e": ["b", "c", "d"]}
    assert list_schedule({"a": 100, "b": 150, "c": 200, "d": 50, "e": 100}, needs, 3) == 400


def test_a_freed_slot_is_taken_at_once_without_waiting_for_the_wave() -> None:
    durations = {"slow": 4, "fast": 1, "next": 3}
    assert list_schedule(durations, {"next": ["fast"]}, 2) == 4


def test_a_greedy_schedule_takes_steps_in_the_order_they_became_ready() -> None:
    """Longest first would need 4; greedy, first come first served, needs 5."""
    assert list_schedule({"a": 1, "b": 1, "c": 2, "d": 4}, {}, 2) == 5


def test_nothing_takes_no_time() -> None:
    assert list_schedule({}, {}, 1) == 0


def test_a_schedule_without_slots_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one slot"):
        list_schedule({"a": 1}, {}, 0)


def test_a_cycle_is_refused() -> None:
    with pytest.raises(CycleError):
        list_schedule({"a": 1, "b": 1}, {"a": ["b"], "b": ["a"]}, 2)


@pytest.mark.parametrize("shape", [*named_shapes(), *RANDOM], ids=lambda shape: shape.name)
def test_no_step_is_lost_between_a_shape_and_its_plan(shape: Shape) -> None:
    steps = json.loads(plan_of(shape))["steps"]
    assert {step["id"]: tuple(step["depends_on"]) for step in steps} == {
        step: tuple(shape.needs.get(step, ())) for step in shape.naps
    }


def test_there_are_fourteen_shapes_with_a_name_of_their_own() -> None:
    assert len({shape.name for shape in named_shapes()}) == 14


def test_a_shape_held_to_the_strict_bar_has_no_short_step() -> None:
    short = [shape.name for shape in named_shapes() if min(shape.naps.values()) < 100]
    assert short == ["chain of 10 x 20 ms", "chain of 10 x 20 ms, recorded"]
    assert all(shape.bar == 1.15 for shape in named_shapes() if shape.name in short)


def test_random_shapes_are_the_same_for_a_seed_and_differ_between_seeds() -> None:
    assert random_shape(7) == RANDOM[7]
    assert len({plan_of(shape).partition("steps")[2] for shape in RANDOM}) == 50
