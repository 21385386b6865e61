"""The order of a plan, and what becomes of a step whose dependencies failed."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planwright.domain.plan import Cascade
from planwright.domain.results import StepResult, StepStatus
from planwright.domain.schedule import Fate, cascade_decision, find_cycle, topological, waves


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        ({}, []),
        ({"a": ()}, [("a",)]),
        ({"c": (), "a": (), "b": ()}, [("c", "a", "b")]),
        ({"a": (), "b": ("a",), "c": ("b",)}, [("a",), ("b",), ("c",)]),
        ({"d": ("b", "c"), "b": ("a",), "c": ("a",), "a": ()}, [("a",), ("b", "c"), ("d",)]),
        ({"a": (), "b": (), "c": ("a",), "d": ("c", "b")}, [("a", "b"), ("c",), ("d",)]),
    ],
    ids=["empty", "one", "independent", "chain", "diamond", "uneven"],
)
def test_a_plan_is_split_into_waves(
    needs: dict[str, tuple[str, ...]], expected: list[tuple[str, ...]]
) -> None:
    assert waves(needs) == expected


@pytest.mark.parametrize(
    ("needs", "members"),
    [
        ({"a": ("a",)}, {"a"}),
        ({"a": ("b",), "b": ("a",)}, {"a", "b"}),
        ({"x": (), "a": ("c", "x"), "b": ("a",), "c": ("b",)}, {"a", "b", "c"}),
    ],
)
def test_a_cycle_is_named_edge_by_edge(needs: dict[str, tuple[str, ...]], members: set[str]) -> None:
    cycle = find_cycle(needs)
    assert set(cycle) == members
    assert cycle[0] == cycle[-1]
    assert all(following in needs[step] for step, following in itertools.pairwise(cycle))


def test_a_plan_without_a_cycle_has_none() -> None:
    assert find_cycle({"a": (), "b": ("a",), "c": ("a", "b")}) == ()


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        ({}, []),
        ({"c": (), "a": (), "b": ()}, ["c", "a", "b"]),
        ({"c": ("a",), "a": (), "b": ("c",)}, ["a", "c", "b"]),
        ({"d": ("b", "c"), "b": ("a",), "c": ("a",), "a": ()}, ["a", "b", "c", "d"]),
    ],
    ids=["empty", "independent", "turned", "diamond"],
)
def test_an_order_keeps_dependencies_first_and_otherwise_what_was_written(
    needs: dict[str, tuple[str, ...]], expected: list[str]
) -> None:
    assert topological(needs) == expected


def test_a_chain_as_long_as_a_plan_may_be_can_be_ordered_backwards() -> None:
    needs = {str(n): (str(n - 1),) if n else () for n in reversed(range(1000))}
    assert topological(needs) == [str(n) for n in range(1000)]
    assert waves(needs) == [(str(n),) for n in range(1000)]
    assert find_cycle(needs) == ()


@settings(max_examples=100, database=None, deadline=None)
@given(data=st.data(), size=st.integers(0, 12))
def test_every_step_lies_one_wave_after_its_latest_dependency(data: st.DataObject, size: int) -> None:
    names = [f"s{n}" for n in range(size)]
    needs = {
        name: tuple(data.draw(st.sets(st.sampled_from(names[:n]))) if n else ())
        for n, name in enumerate(names)
    }
    batches = waves(needs)
    depth = {name: number for number, batch in enumerate(batches) for name in batch}
    assert sorted(depth) == sorted(names)
    assert sum(map(len, batches)) == size
    for name in names:
        assert depth[name] == max((depth[needed] + 1 for needed in needs[name]), default=0)


def settled(*statuses: StepStatus) -> dict[str, StepResult]:
    return {
        f"u{n}": StepResult(uid=f"u{n}", step_id=f"s{n}", capability="c", status=status)
        for n, status in enumerate(statuses)
    }


@pytest.mark.parametrize(
    ("statuses", "cascade", "expected"),
    [
        ((), "partial", ("run", ())),
        ((), "skip", ("run", ())),
        (("completed", "completed"), "partial", ("run", ())),
        (("completed", "completed"), "skip", ("run", ())),
        (("completed", "failed"), "partial", ("run", ("s1",))),
        (("completed", "failed"), "skip", ("skip", ("s1",))),
        (("failed",), "partial", ("skip", ("s0",))),
        (("failed", "skipped"), "partial", ("skip", ("s0", "s1"))),
        (("rejected", "completed"), "partial", ("run", ("s0",))),
        (("rejected", "completed"), "skip", ("skip", ("s0",))),
        (("skipped", "completed", "failed"), "partial", ("run", ("s0", "s2"))),
    ],
)
def test_a_step_runs_or_is_skipped(
    statuses: tuple[StepStatus, ...], cascade: Cascade, expected: tuple[Fate, tuple[str, ...]]
) -> None:
    results = settled(*statuses)
    assert cascade_decision(tuple(results), results, cascade) == expected
