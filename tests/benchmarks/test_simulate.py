"""A short form of `simulate`, with clocks and without; a seed has one trace, and judges see what is wrong.

Five seeds, in which runs end in three ways, and ten of clocks are for `make test-long`, 180 and twenty for
`make test-whole`, and two thousand for `make bench NAME=simulate`.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.simulate import figures_of
from benchmarks.simulated_ends import LATE_S, Ends
from benchmarks.simulated_machines import WrongClock
from benchmarks.simulated_receivers import Arrival, Receivers
from benchmarks.simulated_requests import draw
from benchmarks.simulated_time import SimulatedLoop, World, step
from benchmarks.simulated_trial import Played
from benchmarks.simulated_truth import effects_wrong, order_wrong
from benchmarks.simulated_worker import Stage
from planwright.records.queue.queue import END_OF_TIME
from tests.forked import Forked
from tests.patience import PATIENCE_S

EACH, SEEDS = 20, 180  # seeds a test, which workers of pytest share out
OF_WEEKS = (4, 8)


def simulate(folder: Path, *args: str) -> Forked:
    """Simulate in a process of its own: what is left of killed workers ends with it."""
    return Forked("benchmarks.simulate", "--processes", "1", *args, folder=folder, env=os.environ)


def simulate_hashed(hash_seed: str, *args: str) -> str:
    """Simulate in a new interpreter, which takes another order of what it hashes; return what it prints."""
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.simulate", *args],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.parametrize(
    ("first", "count", "clocks"),
    [
        pytest.param(15, 5, False, marks=pytest.mark.long),
        pytest.param(20, 10, True, marks=pytest.mark.long),
        *(pytest.param(first, EACH, False, marks=pytest.mark.sweep) for first in range(0, SEEDS, EACH)),
        pytest.param(20, EACH, True, marks=pytest.mark.sweep),
    ],
)
def test_whatever_is_done_to_workers_disks_and_clocks_the_records_tell_the_truth(
    tmp_path: Path, first: int, count: int, clocks: bool
) -> None:
    out = tmp_path / "figures.json"
    kind = ["--clocks"] if clocks else []
    seeds = ["--first", str(first), "--seeds", str(count)]
    with simulate(tmp_path, *seeds, "--json", str(out), *kind) as process:
        code, printed = process.wait(PATIENCE_S), process.stdout + process.stderr
    assert code == 0, printed
    figures = json.loads(out.read_text())
    assert (figures["seeds"], figures["wrong"]) == (count, {}), printed
    assert figures["effects"] > 0
    assert {"completed"} < {status for ends in figures["by_way"].values() for status in ends}
    assert figures["counts"]


@pytest.mark.sweep
@pytest.mark.parametrize("seed", OF_WEEKS)
def test_no_clock_that_is_a_week_off_ends_anything_early_or_silences_a_schedule(
    tmp_path: Path, seed: int
) -> None:
    out = tmp_path / "figures.json"
    with simulate(tmp_path, "--weeks", "--first", str(seed), "--seeds", "1", "--json", str(out)) as process:
        code, printed = process.wait(PATIENCE_S), process.stdout + process.stderr
    assert code == 0, printed
    figures = json.loads(out.read_text())
    assert (figures["seeds"], figures["wrong"]) == (1, {}), printed
    assert figures["counts"]["often taken"] > 10
    assert 0.5 < figures["most"]["most silent"] <= 2


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[Ends]:
    world = World(0)
    watching = Ends(world, WrongClock(world), tmp_path / "planwright.db", {"often": 1800.0})
    with closing(sqlite3.connect(tmp_path / "planwright.db")) as database:
        database.executescript("""
            CREATE TABLE runs (run_id, thread_id, cancelled_by, ended_at);
            CREATE TABLE sessions (run_id, thread_id);
            CREATE TABLE gates (gate_id, requested_at, expires_at, status);
            CREATE TABLE schedule_runs (name, due, taken_s);
            INSERT INTO runs VALUES ('r', 't', NULL, NULL);
            INSERT INTO sessions VALUES ('r', 't');
        """)
    yield watching
    watching.close()


def change(ends: Ends, query: str) -> None:
    with closing(sqlite3.connect(ends.path)) as database, database:
        database.execute(query)


def test_a_session_that_ends_early_or_not_at_all_is_seen(ends: Ends) -> None:
    ends.queued("t", 3600)
    ends.world.now = 3600 + LATE_S
    ends.look_for_late()
    assert ends.wrong == []
    ends.world.now += 1
    ends.look_for_late()
    assert ends.wrong == [f"t is open {LATE_S + 1:.0f} s after its end, of 3600 s"]


def test_one_that_ends_early_is_seen(ends: Ends) -> None:
    ends.queued("t", 3600)
    ends.world.now = 3599
    change(ends, f"UPDATE runs SET cancelled_by = '{END_OF_TIME}'")
    ends.look(frozenset(("cancel",)))
    assert ends.wrong == ["t ended 1 s early, of 3600 s"]


def test_a_schedule_that_is_silent_while_somebody_is_there_is_seen(ends: Ends) -> None:
    for now, at_work in ((1800.0, True), (9000.0, False), (10_000.0, True)):
        ends.world.now = now
        ends.went_by(at_work)
    assert ends.wrong == []
    change(ends, "INSERT INTO schedule_runs VALUES ('often', '2026-03-02', 1)")
    ends.look(frozenset(("schedule",)))
    ends.world.now += 3601
    ends.went_by(at_work=True)
    assert ends.wrong == ["schedule often is silent for 3601 s"]


@pytest.mark.sweep
def test_a_seed_has_the_same_trace_in_every_process(tmp_path: Path) -> None:
    printed = [simulate_hashed(hash_seed, "--seed", "3") for hash_seed in "12"]
    for seed in "34":
        with simulate(tmp_path, "--seed", seed) as process:
            assert process.wait(PATIENCE_S) == 0, process.stderr
            printed.append(process.stdout)
    digests = [text.splitlines()[-2] for text in printed]
    assert digests[0] == digests[1] == digests[2] != digests[3]


def test_the_order_of_steps_follows_from_the_seed() -> None:
    def taken(seed: int) -> list[str]:
        world, order = World(seed), list[str]()
        loops = {name: SimulatedLoop(world) for name in ("a", "b")}  # type: ignore[abstract]
        for name, loop in loops.items():
            for n in range(10):
                loop.call_later(n % 3, order.append, name)
        while step(world, list(loops.values())):
            pass
        return order

    assert taken(1) == taken(1)
    assert len({tuple(taken(seed)) for seed in range(8)}) > 1


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    world = World(0)
    strict = {"execution": {"on_failed_dependency": "skip"}}
    return Stage(world, tmp_path, draw(world.chance), Receivers(world, lambda name: True), strict, [0.0])


def test_what_happens_twice_or_unasked_is_seen(stage: Stage) -> None:
    once = Arrival("book 1", "k1", "idempotent", "worker 1", gated=True)
    stage.receivers.happened += [once]
    assert [*effects_wrong(stage)] == []
    stage.receivers.happened += [once, Arrival("pay 2", "k2", "idempotent", "worker 1", gated=False)]
    assert [*effects_wrong(stage)] == [
        "book 1 happened 2 times",
        "pay 2 happened before anybody approved of it",
    ]


def test_what_happens_before_what_it_depends_on_is_seen(stage: Stage) -> None:
    stage.request.effects.clear()
    stage.request.effects.update({"first": (), "second": ("first",)})
    stage.receivers.happened.append(Arrival("second", "k", "blind", "worker 1", gated=True))
    assert [*order_wrong(stage)] == ["second happened before first, on which it depends"]
    stage.receivers.happened.insert(0, Arrival("first", "l", "blind", "worker 1", gated=True))
    assert [*order_wrong(stage)] == []


def test_figures_are_sums() -> None:
    row = Played(1, "a plan", status="completed", wrong=["something"])
    figures = json.loads(json.dumps(figures_of([row])))
    assert (figures["seeds"], figures["wrong"]) == (1, {"1": ["something"]})
    assert figures["by_way"] == {row.way: {row.status: 1}}
