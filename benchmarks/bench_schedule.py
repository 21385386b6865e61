"""P1: how long the steps of a plan take, over a list schedule with the same number of slots.

Fourteen named plans run in turn, all durably: by Planwright in dataflow order and in waves, as LangGraph's
tasks, and as a graph with a node for each step. Random plans run by Planwright and as tasks. Ours is the
time from `plan_start` to `plan_complete`, when all is on record; that of the peers is the time of their call.
"""

from __future__ import annotations

import asyncio
import statistics
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from benchmarks.figures import Effort, Figure
from benchmarks.schedule_peers import graph_span_s, tasks_span_s
from benchmarks.shapes import Shape, named_shapes, plan_of, random_shape
from planwright.capabilities.declaration import capability
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.settings.settings import load

RANDOM_PLANS, RANDOM_BAR, OUTSIDE_MS = 50, 1.08, 60
Order = Literal["dataflow", "waves"]
OURS, WAVES, TASKS, GRAPH = "ours", "our waves", "@task", "static graph"


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
class Timed:
    """How long one run took."""

    span_s: float
    """Seconds from the first step to the last."""
    whole_s: float
    """Seconds of the whole run."""


@dataclass(frozen=True)
class Row:
    """The medians of one shape."""

    shape: Shape
    """What was run."""
    spans: Mapping[str, float]
    """Seconds from the first step to the last, by who ran them."""
    outside_s: float
    """Seconds that the whole run of ours took beside them."""

    @property
    def ratio(self) -> float:
        """Divide the time of ours by the list schedule."""
        return self.spans[OURS] / self.shape.list_schedule_s

    def against(self, peer: str) -> float:
        """Divide the time of ours by that of a peer."""
        return self.spans[OURS] / self.spans[peer]


def open_bench_agent(shapes: Sequence[Shape], order: Order, folder: Path, runs: int) -> Agent:
    """Build an agent with a store of its own whose model plans each shape `runs` times."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = load(
        folder,
        planning={"mode": "always", "max_steps": 100},
        budgets={"run": {"tool_calls": 100}},
        execution={"order": order, "max_parallel_steps": shapes[0].slots},
    )
    replies: list[Any] = [reply for shape in shapes for reply in [plan_of(shape), "It is done."] * runs]
    return build_graph(settings, model=ScriptedModel(replies=replies), capabilities=[nap, nap_recorded])


async def time_plan(agent: Agent) -> Timed:
    """Run one plan on a new thread. Raises RuntimeError when the plan did not complete."""
    config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}}
    arrived: dict[str, float] = {}
    began = time.perf_counter()
    request: Any = {"messages": [("user", "Take the naps")]}
    async for event in agent.astream(request, config, stream_mode="custom"):
        arrived[event["type"]] = time.perf_counter()
    if "plan_complete" not in arrived:
        raise RuntimeError(f"the plan did not complete: {', '.join(arrived)}")
    return Timed(arrived["plan_complete"] - arrived["plan_start"], time.perf_counter() - began)


Runner = Callable[[], Awaitable[Timed]]


def _timed(span: Callable[[Shape, AsyncSqliteSaver], Awaitable[float]], shape: Shape, saver: Any) -> Runner:
    async def run() -> Timed:
        return Timed(await span(shape, saver), 0)

    return run


async def row_of(shape: Shape, runners: Mapping[str, Runner], repeat: int, warm: bool = True) -> Row:
    """Run a shape by everybody in turn, after one round to warm up."""
    timed: dict[str, list[Timed]] = {name: [] for name in runners}
    for _ in range(repeat + warm):
        for name, run in runners.items():
            timed[name].append(await run())
    spans = {name: statistics.median(each.span_s for each in rounds[warm:]) for name, rounds in timed.items()}
    outside = statistics.median(each.whole_s - each.span_s for each in timed[OURS][warm:])
    return Row(shape, spans, outside)


async def named_rows(folder: Path, repeat: int) -> list[Row]:
    """Measure the named shapes, each with agents and a file of its own."""
    rows = []
    for number, shape in enumerate(named_shapes()):
        async with AsyncExitStack() as stack:
            place = folder / str(number)
            ours = await stack.enter_async_context(
                open_bench_agent([shape], "dataflow", place / "a", repeat + 1)
            )
            waves = await stack.enter_async_context(
                open_bench_agent([shape], "waves", place / "b", repeat + 1)
            )
            saver = await _saver(stack, place)
            runners: dict[str, Runner] = {
                OURS: lambda ours=ours: time_plan(ours),  # type: ignore[misc]
                WAVES: lambda waves=waves: time_plan(waves),  # type: ignore[misc]
                TASKS: _timed(tasks_span_s, shape, saver),
                GRAPH: _timed(graph_span_s, shape, saver),
            }
            rows.append(await row_of(shape, runners, repeat))
    return rows


async def random_rows(folder: Path, count: int, repeat: int) -> list[Row]:
    """Measure random shapes, by one agent and as tasks, after the first one was run once to warm up."""
    shapes = [random_shape(seed) for seed in range(count)]
    rows = []
    async with AsyncExitStack() as stack:
        agent = open_bench_agent(shapes, "dataflow", folder, repeat)
        saver = await _saver(stack, folder)
        await stack.enter_async_context(agent)
        for shape in shapes:
            runners: dict[str, Runner] = {
                OURS: lambda: time_plan(agent),
                TASKS: _timed(tasks_span_s, shape, saver),
            }
            rows.append(await row_of(shape, runners, repeat, warm=False))
    return rows


async def _saver(stack: AsyncExitStack, folder: Path) -> AsyncSqliteSaver:
    return await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(str(folder / "peers.db")))


async def measure(folder: Path, effort: Effort) -> list[Figure]:
    """Measure named and random shapes."""
    repeat = effort.pick(3, 1)
    named = await named_rows(folder, repeat)
    drawn = await random_rows(folder / "random", effort.pick(RANDOM_PLANS, 6), repeat)
    return figures_of(named, drawn)


def figures_of(named: Sequence[Row], drawn: Sequence[Row]) -> list[Figure]:
    """Hold each named shape, the worst random one, and the worst comparison with each peer to its bar."""
    figures = [
        Figure(
            "P1", f"over list schedule, {row.shape.name}", round(row.ratio, 3), row.shape.bar, note=_note(row)
        )
        for row in named
    ]
    worst = max(drawn, key=lambda row: row.ratio)
    name = f"over list schedule, worst of {len(drawn)} random plans"
    figures.append(
        Figure("P1", name, round(worst.ratio, 3), RANDOM_BAR, note=f"{worst.shape.name}: {_note(worst)}")
    )
    for peer, rows in ((TASKS, [*named, *drawn]), (WAVES, named), (GRAPH, named)):
        slowest = max(rows, key=lambda row: row.against(peer))
        above = sum(round(row.against(peer), 2) > 1 for row in rows)
        note = f"{slowest.shape.name}; above on {above} of {len(rows)}"
        figures.append(Figure("P1", f"worst over {peer}", round(slowest.against(peer), 2), 1.0, note=note))
    outside = statistics.median(row.outside_s for row in named) * 1000
    return [*figures, Figure("P1", "ms of a whole run outside its steps", round(outside, 1), OUTSIDE_MS)]


def _note(row: Row) -> str:
    peers = ((name, span / row.shape.list_schedule_s) for name, span in row.spans.items() if name != OURS)
    return ", ".join(f"{name} {ratio:.3f}" for name, ratio in peers)
