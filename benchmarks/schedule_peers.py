"""The same steps by what LangGraph has: `@task` in an `@entrypoint`, and a graph with a node for each step.

Both keep their state in LangGraph's SQLite saver, on disk and written before they go on.
"""

from __future__ import annotations

import asyncio
import operator
import time
import uuid
from typing import Annotated, Any

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from benchmarks.shapes import Shape


@task
async def _nap(ms: int) -> str:
    await asyncio.sleep(ms / 1000)
    return "ok"


class _Done(TypedDict):
    steps: Annotated[list[str], operator.add]


async def tasks_span_s(shape: Shape, saver: AsyncSqliteSaver) -> float:
    """Run each step as a task that waits for those it needs; returns the seconds until all is written."""

    @entrypoint(checkpointer=saver)
    async def flow(_: str) -> int:
        slots = asyncio.Semaphore(shape.slots)
        running: dict[str, asyncio.Task[None]] = {}

        async def step(name: str) -> None:
            await asyncio.gather(*(running[needed] for needed in shape.needs.get(name, ())))
            async with slots:
                await _nap(shape.naps[name])

        for name in shape.naps:
            running[name] = asyncio.create_task(step(name))
        await asyncio.gather(*running.values())
        return len(running)

    config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}}
    began = time.perf_counter()
    _check(shape, await flow.ainvoke("go", config, durability="sync"))
    return time.perf_counter() - began


async def graph_span_s(shape: Shape, saver: AsyncSqliteSaver) -> float:
    """Run each step as a node; returns the seconds until all is written."""
    graph = StateGraph(_Done)

    def add(name: str, ms: int) -> None:
        async def node(state: _Done) -> _Done:
            await asyncio.sleep(ms / 1000)
            return {"steps": [name]}

        graph.add_node(name, node)

    for name, ms in shape.naps.items():
        add(name, ms)
        if needed := shape.needs.get(name):
            graph.add_edge(list(needed), name)
        else:
            graph.add_edge(START, name)
    for name in shape.naps.keys() - {needed for each in shape.needs.values() for needed in each}:
        graph.add_edge(name, END)
    compiled = graph.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}, "max_concurrency": shape.slots}
    began = time.perf_counter()
    out = await compiled.ainvoke({"steps": []}, config, durability="sync")
    _check(shape, len(out["steps"]))
    return time.perf_counter() - began


def _check(shape: Shape, steps: object) -> None:
    if steps != len(shape.naps):
        raise RuntimeError(f"{steps} of {len(shape.naps)} steps of {shape.name} were made")
