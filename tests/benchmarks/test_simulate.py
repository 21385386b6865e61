"""A short form of `make simulate` and `make clock`; a seed has one trace, and judges see what is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.simulate import figures_of
from benchmarks.simulated_receivers import Arrival, Receivers
from benchmarks.simulated_requests import draw
from benchmarks.simulated_time import SimulatedLoop, World, step
from benchmarks.simulated_trial import Played
from benchmarks.simulated_truth import effects_wrong, order_wrong
from benchmarks.simulated_worker import Stage
from tests.forked import Forked
from tests.patience import PATIENCE_S

EACH, SEEDS, OF_CLOCKS = 20, 180, 20  # seeds a test, which workers of pytest share out


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
    ("first", "clocks"),
    [
        *((first, False) for first in range(0, SEEDS, EACH)),
        *((first, True) for first in range(20, 20 + OF_CLOCKS, EACH)),
    ],
)
def test_whatever_is_done_to_workers_disks_and_clocks_the_records_tell_the_truth(
    tmp_path: Path, first: int, clocks: bool
) -> None:
    out = tmp_path / "figures.json"
    kind = ["--clocks"] if clocks else []
    seeds = ["--first", str(first), "--seeds", str(EACH)]
    with simulate(tmp_path, *seeds, "--json", str(out), *kind) as process:
        code, printed = process.wait(PATIENCE_S), process.stdout + process.stderr
    assert code == 0, printed
    figures = json.loads(out.read_text())
    assert (figures["seeds"], figures["wrong"]) == (EACH, {}), printed
    assert figures["effects"] > 0
    assert {"completed"} < {status for ends in figures["by_way"].values() for status in ends}
    assert figures["counts"]


@pytest.mark.long
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
