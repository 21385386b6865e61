"""A plan is timed from its first step to its last, by us and by each peer, and held to the bars."""

from __future__ import annotations

import asyncio
from pathlib import Path

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from benchmarks.bench_schedule import GRAPH, OURS, TASKS, WAVES, Row, figures_of, open_bench_agent, time_plan
from benchmarks.schedule_peers import graph_span_s, tasks_span_s
from benchmarks.shapes import Shape
from tests.patience import PATIENCE_S

SMALL = Shape("small", {"a": 30, "b": 30, "c": 30}, {"c": ("a", "b")}, 10.0)


async def test_a_plan_takes_no_less_than_its_schedule_whoever_runs_it(tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE_S):
        with open_bench_agent([SMALL], "dataflow", tmp_path / "ours", 1) as agent:
            timed = await time_plan(agent)
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "peers.db")) as saver:
            spans = [await tasks_span_s(SMALL, saver), await graph_span_s(SMALL, saver)]
    assert 0.95 * SMALL.list_schedule_s <= timed.span_s < timed.whole_s
    assert min(spans) >= 0.95 * SMALL.list_schedule_s


async def test_recorded_naps_are_effects_in_the_ledger(tmp_path: Path) -> None:
    shape = Shape("recorded", {"a": 1, "b": 1}, {}, 10.0, capability="bench.nap_recorded")
    async with asyncio.timeout(PATIENCE_S):
        with open_bench_agent([shape], "dataflow", tmp_path, 1) as agent:
            await time_plan(agent)
            query = "SELECT count(*) FROM effects WHERE status = 'done'"
            done = agent.stores.database.call("read", lambda c: int(c.execute(query).fetchone()[0]))
    assert done == 2


def test_what_is_slower_than_a_peer_or_than_the_schedule_is_a_miss() -> None:
    quick = Row(Shape("quick", {"a": 100}, {}), {OURS: 0.104, WAVES: 0.11, TASKS: 0.104, GRAPH: 0.12}, 0.05)
    slow = Row(Shape("slow", {"a": 100}, {}), {OURS: 0.12, WAVES: 0.13, TASKS: 0.11, GRAPH: 0.12}, 0.05)
    drawn = Row(Shape("random 0", {"a": 100}, {}), {OURS: 0.109, TASKS: 0.12}, 0.05)
    missed = [figure.name for figure in figures_of([quick, slow], [drawn]) if figure.missed]
    assert missed == [
        "over list schedule, slow",
        "over list schedule, worst of 1 random plans",
        "worst over @task",
    ]
