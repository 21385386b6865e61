"""Shapes of plans to be scheduled, fourteen with names and any number drawn by seed."""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from heapq import heappop, heappush
from itertools import pairwise

SHORT_STEPS = 1.15  # the bar where the steps are short, or many at once
LONG_STEPS = 1.05


@dataclass(frozen=True)
class Shape:
    """A plan of naps, the slots it runs in, and the ratio it has to stay below."""

    name: str
    """What it looks like."""
    naps: Mapping[str, int]
    """Milliseconds by step, in topological order."""
    needs: Mapping[str, tuple[str, ...]]
    """The steps that a step waits for; one that is left out waits for none."""
    bar: float = LONG_STEPS
    """The most that the time may be over the list schedule."""
    slots: int = 8
    """How many steps run at once."""
    capability: str = "bench.nap"
    """What is called in each step."""

    @property
    def list_schedule_s(self) -> float:
        """The length of a list schedule in this shape's slots."""
        return list_schedule(self.naps, self.needs, self.slots) / 1000


def list_schedule(durations: Mapping[str, float], needs: Mapping[str, Sequence[str]], parallel: int) -> float:
    """Time a greedy schedule in topological order: a free slot takes the step that was ready first.

    Raises ValueError when there is no slot, and graphlib.CycleError (a ValueError too) for a cycle.
    """
    if parallel < 1:
        raise ValueError("a schedule needs at least one slot")
    sorter = TopologicalSorter({step: needs.get(step, ()) for step in durations})
    sorter.prepare()
    ready, running, now = deque(sorter.get_ready()), list[tuple[float, str]](), 0.0
    while ready or running:
        while ready and len(running) < parallel:
            step = ready.popleft()
            heappush(running, (now + durations[step], step))
        now, ended = heappop(running)
        sorter.done(ended)
        ready.extend(sorter.get_ready())
    return now


def named_shapes() -> list[Shape]:
    """Name the plans; the last three call what the ledger records."""
    fan = dict.fromkeys(("f1", "f2", "f3"), 200)
    links = [f"c{n}" for n in range(1, 11)]
    chain, chained = dict.fromkeys(links, 20), {b: (a,) for a, b in pairwise(links)}
    leaves = tuple(f"w{n}" for n in range(1, 65))
    wide, joined = dict.fromkeys((*leaves, "join"), 100), {"join": leaves}
    diamond = {"a": 100, "b": 150, "c": 200, "d": 100, "e": 100}
    halves = {"b": ("a",), "c": ("a",), "d": ("a",), "e": ("b", "c", "d")}
    recorded = "bench.nap_recorded"
    return [
        Shape("one step", {"a": 200}, {}),
        Shape("fan of 3", fan, {}),
        Shape("chain of 10 x 20 ms", chain, chained, SHORT_STEPS),
        Shape("chain of 5 x 100 ms", dict.fromkeys(links[:5], 100), _only(chained, links[:5])),
        Shape("64 wide, 8 slots", wide, joined, SHORT_STEPS),
        Shape("64 wide, 64 slots", wide, joined, SHORT_STEPS, slots=64),
        Shape("diamond", diamond, halves),
        *_uneven_shapes(),
        Shape("fan of 3, recorded", fan, {}, capability=recorded),
        Shape("chain of 10 x 20 ms, recorded", chain, chained, SHORT_STEPS, capability=recorded),
        Shape("diamond, recorded", diamond, halves, capability=recorded),
    ]


def _uneven_shapes() -> list[Shape]:
    """Name the plans whose steps differ: there waves lose."""
    crossed = {"a1": 300, "b1": 100, "a2": 100, "b2": 300, "a3": 300, "b3": 100, "join": 100}
    crossing = {"a2": ("a1",), "a3": ("a2",), "b2": ("b1",), "b3": ("b2",), "join": ("a3", "b3")}
    uneven = {"long": 600, "s1": 100, "s2": 100, "s3": 100, "s4": 100, "join": 100}
    after = {"s2": ("s1",), "s3": ("s2",), "s4": ("s3",), "join": ("long", "s4")}
    tree = {"root": 100, "l": 100, "r": 200, "ll": 200, "lr": 100, "rl": 100, "rr": 100}
    branches = {"l": ("root",), "r": ("root",), "ll": ("l",), "lr": ("l",), "rl": ("r",), "rr": ("r",)}
    levels = {f"{level}{lane}": 100 + 50 * lane for level in "xyz" for lane in range(3)}
    layered = {
        f"{b}{lane}": tuple(f"{a}{n}" for n in range(3)) for a, b in pairwise("xyz") for lane in range(3)
    }
    return [
        Shape("two crossed chains", crossed, crossing),
        Shape("uneven", uneven, after, slots=3),
        Shape("tree", tree, branches),
        Shape("three full levels", levels, layered),
    ]


def _only(needs: Mapping[str, tuple[str, ...]], steps: Sequence[str]) -> dict[str, tuple[str, ...]]:
    return {step: needs[step] for step in steps if step in needs}


def random_shape(seed: int) -> Shape:
    """Draw a plan of 5 to 10 steps of 100 to 300 ms in four slots, each waiting for up to three before it."""
    chance = random.Random(seed)
    steps = [f"s{number}" for number in range(chance.randint(5, 10))]
    naps = {step: chance.randrange(100, 301, 10) for step in steps}
    needs: dict[str, tuple[str, ...]] = {}
    for place, step in enumerate(steps):
        count = min(place, chance.choice((0, 1, 1, 2, 3)))
        if count:
            needs[step] = tuple(sorted(chance.sample(steps[:place], count)))
    return Shape(f"random {seed}", naps, needs, slots=4)


def plan_of(shape: Shape) -> str:
    """Write the plan of a shape as a model would."""
    steps = [
        {
            "id": step,
            "capability": shape.capability,
            "params": {"ms": ms},
            "depends_on": list(shape.needs.get(step, ())),
        }
        for step, ms in shape.naps.items()
    ]
    return json.dumps({"goal": f"Measure {shape.name}", "steps": steps})
