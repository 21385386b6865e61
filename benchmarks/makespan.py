"""How long plans take, as a multiple of the best schedule with the same number of slots.

Five plans run durably, in dataflow order and in waves, in turn. The time from `plan_start` to
`plan_complete` is divided by the length of a list schedule. Prints a table and joins its numbers
to `bench.json` in the current folder.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from heapq import heappop, heappush
from itertools import pairwise
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table

from planwright.capabilities.declaration import capability
from planwright.domain.errors import RunError
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.settings.settings import load

Order = Literal["dataflow", "waves"]
ORDERS: tuple[Order, ...] = ("dataflow", "waves")
RESULTS = Path("bench.json")
SCRATCH = Path(".planwright")


@capability("bench.nap", trusted_result=True, mode="read_only")
async def nap(ms: int) -> str:
    """Sleep for some milliseconds."""
    await asyncio.sleep(ms / 1000)
    return "ok"


@capability("bench.nap_recorded", trusted_result=True, mode="local_write", effect="idempotent")
async def nap_recorded(ms: int) -> str:
    """Sleep for some milliseconds, as an effect that the ledger records."""
    await asyncio.sleep(ms / 1000)
    return "ok"


@dataclass(frozen=True)
class Shape:
    """A plan of naps, the slots it runs in, and the ratio it has to stay below.

    `naps` gives milliseconds by step, in topological order; steps left out of `needs` wait for none.
    """

    name: str
    naps: Mapping[str, int]
    needs: Mapping[str, tuple[str, ...]]
    target: float
    slots: int = 8
    capability: str = "bench.nap"

    @property
    def list_schedule_s(self) -> float:
        """The length of a list schedule in this shape's slots."""
        return list_schedule(self.naps, self.needs, self.slots) / 1000

    @property
    def critical_path_s(self) -> float:
        """The length of the longest chain: a list schedule with a slot for every step."""
        return list_schedule(self.naps, self.needs, len(self.naps)) / 1000


@dataclass(frozen=True)
class Row:
    """The median seconds a shape took in each order."""

    shape: Shape
    seconds: Mapping[Order, float]

    def ratio(self, order: Order) -> float:
        """Divide the time in an order by the list schedule."""
        return self.seconds[order] / self.shape.list_schedule_s

    @property
    def critical_ratio(self) -> float:
        """Divide the time in dataflow order by the critical path."""
        return self.seconds["dataflow"] / self.shape.critical_path_s

    @property
    def missed(self) -> bool:
        """Whether dataflow took longer than its target."""
        return self.ratio("dataflow") > self.shape.target


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


def shapes() -> list[Shape]:
    """Name the plans: fan, chain, wide with a join (in 8 and in 64 slots), diamond, crossed chains."""
    fan = dict.fromkeys(("f1", "f2", "f3"), 200)
    links = [f"c{n}" for n in range(1, 11)]
    chain, chained = dict.fromkeys(links, 20), {b: (a,) for a, b in pairwise(links)}
    leaves = tuple(f"w{n}" for n in range(1, 65))
    wide, joined = dict.fromkeys((*leaves, "join"), 100), {"join": leaves}
    diamond = {"a": 100, "b": 150, "c": 200, "d": 50, "e": 100}
    crossed = {"a1": 300, "b1": 50, "a2": 50, "b2": 300, "a3": 300, "b3": 50, "join": 20}
    crossing = {"a2": ("a1",), "a3": ("a2",), "b2": ("b1",), "b3": ("b2",), "join": ("a3", "b3")}
    return [
        Shape("fan3", fan, {}, 1.10),
        Shape("chain10", chain, chained, 1.25),
        Shape("wide64_p8", wide, joined, 1.25),
        Shape("wide64_p64", wide, joined, 1.25, slots=64),
        Shape("diamond", diamond, {"b": ("a",), "c": ("a",), "d": ("a",), "e": ("b", "c", "d")}, 1.10),
        Shape("crossed", crossed, crossing, 1.10),
        Shape("fan3_recorded", fan, {}, 1.10, capability="bench.nap_recorded"),
        Shape("chain10_recorded", chain, chained, 1.25, capability="bench.nap_recorded"),
    ]


def plan_reply(shape: Shape) -> str:
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


def open_bench_agent(shape: Shape, order: Order, folder: Path, runs: int) -> Agent:
    """Build an agent with stores of its own in a folder, whose model plans the shape `runs` times."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = load(
        folder,
        planning={"mode": "always", "max_steps": 100},
        budgets={"run": {"tool_calls": 100}},
        execution={"order": order, "max_parallel_steps": shape.slots},
    )
    model = ScriptedModel(replies=[plan_reply(shape), "It is done."] * runs)
    return build_graph(settings, model=model, capabilities=[nap, nap_recorded])


async def time_plan(agent: Agent) -> float:
    """Run one plan on a new thread; return the seconds from `plan_start` to `plan_complete`.

    Raises RunError when the plan did not complete.
    """
    config = {"configurable": {"thread_id": str(uuid.uuid4())}}
    arrived: dict[str, float] = {}
    request = {"messages": [("user", "Take the naps")]}
    async for event in agent.astream(request, config, stream_mode="custom"):  # type: ignore[arg-type]
        arrived[event["type"]] = time.perf_counter()
    if "plan_complete" not in arrived:
        raise RunError(
            f"the plan did not complete: {', '.join(arrived)}", "run it alone, and look at its events"
        )
    return arrived["plan_complete"] - arrived["plan_start"]


async def measure(shape: Shape, folder: Path, repeat: int) -> Row:
    """Time a shape in both orders in turn, after one run of each to warm up."""
    agents = {order: open_bench_agent(shape, order, folder / order, repeat + 1) for order in ORDERS}
    taken: dict[Order, list[float]] = {order: [] for order in ORDERS}
    try:
        for _ in range(repeat + 1):
            for order, agent in agents.items():
                taken[order].append(await time_plan(agent))
    finally:
        for agent in agents.values():
            agent.close()
    return Row(shape, {order: statistics.median(seconds[1:]) for order, seconds in taken.items()})


def measure_all(chosen: Sequence[Shape], repeat: int) -> list[Row]:
    """Measure some shapes, with stores on the disk of the current folder (`/tmp` may be memory)."""
    SCRATCH.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="makespan-", dir=SCRATCH) as folder:
        return [asyncio.run(measure(shape, Path(folder) / shape.name, repeat)) for shape in chosen]


def worst_critical_ratio(rows: Sequence[Row]) -> float | None:
    """Find the worst ratio to the critical path among shapes with a slot for every step that is ready."""
    free = [row for row in rows if row.shape.list_schedule_s == row.shape.critical_path_s]
    return max((row.critical_ratio for row in free), default=None)


def numbers(rows: Sequence[Row]) -> dict[str, float]:
    """Name every number for `bench.json`."""
    named: dict[str, float] = {}
    for row in rows:
        named |= {f"{row.shape.name}_{order}": round(row.ratio(order), 3) for order in ORDERS}
        named[f"{row.shape.name}_critical_path"] = round(row.critical_ratio, 3)
    worst = worst_critical_ratio(rows)
    return named if worst is None else {**named, "critical_path_worst": round(worst, 3)}


def join_results(path: Path, found: Mapping[str, float]) -> None:
    """Write numbers into a JSON file, keeping what else it holds. Raises ValueError when it is no object."""
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if not isinstance(kept, dict):
        raise ValueError(f"{path} holds no JSON object")
    path.write_text(json.dumps({**kept, **found}, indent=2) + "\n", encoding="utf-8")


def report(rows: Sequence[Row], repeat: int) -> Table:
    """Lay the rows out as a table."""
    table = Table(title=f"Makespan / list schedule, median of {repeat}")
    table.add_column("plan", no_wrap=True)
    for heading in ("schedule", "dataflow", "waves", "target", "", "critical path"):
        table.add_column(heading, justify="right")
    for row in rows:
        ratios = [f"{row.ratio(order):.3f}" for order in ORDERS]
        result = "[red]missed[/red]" if row.missed else "[green]met[/green]"
        limits = [f"≤ {row.shape.target:.2f}", result, f"{row.critical_ratio:.3f}"]
        table.add_row(row.shape.name, f"{row.shape.list_schedule_s * 1000:.0f} ms", *ratios, *limits)
    if (worst := worst_critical_ratio(rows)) is not None:
        table.add_section()
        table.add_row("worst with free slots", *[""] * 5, f"{worst:.3f}")
    return table


def main() -> None:
    """Read the options, measure, print and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--repeat", type=int, default=5, help="measured runs a plan and order (default 5)")
    names = [shape.name for shape in shapes()]
    parser.add_argument("--only", nargs="+", choices=names, default=names, help="measure these plans only")
    given = parser.parse_args()
    if given.repeat < 1:
        parser.error("--repeat takes a number from 1")
    rows = measure_all([shape for shape in shapes() if shape.name in given.only], given.repeat)
    Console().print(report(rows, given.repeat))
    join_results(RESULTS, numbers(rows))


if __name__ == "__main__":
    main()
