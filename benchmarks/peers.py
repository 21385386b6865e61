"""Planwright beside LangChain's create_agent: the same model, the same number of tools, in turn.

A job of three levels with three calls each (model 500 ms, tools 200 ms) in wall time; twenty direct
steps in model calls; and the CPU a turn of a durable loop costs. Each number is joined to `bench.json`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from pydantic import SecretStr
from rich.console import Console

from benchmarks.makespan import RESULTS, SCRATCH, join_results
from planwright.capabilities.declaration import capability
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.settings.settings import load

LEVELS, WIDTH, TURNS = 3, 3, 30
MODEL_S, TOOL_S = 0.5, 0.2


@capability("bench.work", trusted_result=True, mode="read_only")
async def work(level: int, lane: int) -> str:
    """Work for a while."""
    await asyncio.sleep(TOOL_S if lane >= 0 else 0)
    return f"{level}.{lane}"


@tool
async def bench__work(level: int, lane: int) -> str:
    """Work for a while."""
    await asyncio.sleep(TOOL_S if lane >= 0 else 0)
    return f"{level}.{lane}"


def made(folder: Path) -> Path:
    """Make a folder."""
    folder.mkdir(parents=True)
    return folder


@tool
async def datetime__now(timezone: str = "UTC") -> dict[str, str]:
    """Tell the date and time."""
    return {"timezone": timezone}


@tool
async def memory__search(query: str, limit: int = 5) -> list[str]:
    """Search what was remembered in earlier runs."""
    return [query][:limit]


def config() -> Any:
    """Name a new thread."""
    return {"configurable": {"thread_id": str(uuid.uuid4())}, "recursion_limit": 1000}


def plan(levels: int, width: int) -> str:
    """Write a plan whose every level waits for the one before."""
    steps = [
        {
            "id": f"s{level}_{lane}",
            "capability": "bench.work",
            "params": {"level": level, "lane": lane},
            "depends_on": [f"s{level - 1}_{other}" for other in range(width)] if level else [],
        }
        for level in range(levels)
        for lane in range(width)
    ]
    return json.dumps({"goal": "Work", "steps": steps})


def turns(*batches: list[tuple[int, int]]) -> list[list[Any]]:
    """Write the calls of each turn."""
    return [[["bench__work", {"level": level, "lane": lane}] for level, lane in batch] for batch in batches]


@contextlib.contextmanager
def model_server(script: dict[str, Any]) -> Iterator[str]:
    """Serve a script in a process of its own; yields its base URL."""
    command = [sys.executable, "-m", "benchmarks.model_server", json.dumps(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.terminate()


@contextlib.asynccontextmanager
async def ours(url: str, folder: Path, mode: str) -> Any:
    """Open Planwright on a model."""
    settings = load(
        folder,
        providers={"bench": {"base_url": url, "model": "m", "capabilities": ["function_calling"]}},
        planning={"mode": mode, "max_steps": 100},
        execution={"max_parallel_steps": 64},
        tools={"top_k": 3},
    )
    agent = build_graph(settings, capabilities=[work])
    try:
        yield agent
    finally:
        await agent.aclose()


async def ask(agent: Any) -> None:
    """Do the job once, durably."""
    given = {"messages": [{"role": "user", "content": "Bench work"}]}
    await agent.ainvoke(given, config(), durability="sync")


@contextlib.asynccontextmanager
async def peer(url: str, folder: Path) -> Any:
    """Open LangChain's agent on the same model, with its SQLite saver."""
    model = ChatOpenAI(model="m", base_url=url, api_key=SecretStr("none"), max_retries=0)
    async with AsyncSqliteSaver.from_conn_string(str(folder / "peer.db")) as saver:
        yield create_agent(model, [bench__work, datetime__now, memory__search], checkpointer=saver)


async def clock(agent: Any, read: Callable[[], float]) -> float:
    """Read a clock around one job of an agent."""
    started = read()
    await ask(agent)
    return read() - started


async def compare_levels(folder: Path, repeat: int) -> dict[str, float]:
    """Time three levels of three calls: planned, with parallel calls, and one call a turn."""
    rows = [[(level, lane) for lane in range(WIDTH)] for level in range(LEVELS)]
    single = [[call] for row in rows for call in row]
    base = {"plan": plan(LEVELS, WIDTH), "answer": "done", "delay_s": MODEL_S}
    taken: dict[str, list[float]] = {"ours": [], "parallel": [], "serial": []}
    with (
        model_server({**base, "turns": []}) as planned,
        model_server({**base, "turns": turns(*rows)}) as parallel,
        model_server({**base, "turns": turns(*single)}) as serial,
    ):
        async with (
            ours(planned, made(folder / "ours"), "always") as a,
            peer(parallel, made(folder / "b")) as b,
            peer(serial, made(folder / "c")) as c,
        ):
            for _ in range(repeat + 1):
                for name, agent in (("ours", a), ("parallel", b), ("serial", c)):
                    taken[name].append(await clock(agent, time.perf_counter))
    best = {name: min(seconds[1:]) for name, seconds in taken.items()}
    return {
        "levels_seconds": round(best["ours"], 3),
        "levels_faster_than_parallel_calls": round(best["parallel"] / best["ours"], 2),
        "levels_faster_than_one_call_a_turn": round(best["serial"] / best["ours"], 2),
    }


async def compare_cpu(folder: Path, repeat: int) -> dict[str, float]:
    """Compare the CPU of a turn of the durable loop, as minima of interleaved runs."""
    script = {"plan": "", "answer": "done", "delay_s": 0}
    script["turns"] = turns(*([(turn, -1)] for turn in range(TURNS)))
    taken: dict[str, list[float]] = {"ours": [], "peer": []}
    with model_server(script) as url:
        async with ours(url, made(folder / "ours"), "never") as a, peer(url, made(folder / "peer")) as b:
            for _ in range(repeat + 1):
                for name, agent in (("ours", a), ("peer", b)):
                    taken[name].append(await clock(agent, time.process_time))
    best = {name: min(seconds[1:]) / (TURNS + 1) * 1000 for name, seconds in taken.items()}
    return {
        "turn_cpu_ms": round(best["ours"], 2),
        "turn_cpu_ms_of_create_agent": round(best["peer"], 2),
        "turn_cpu_ratio": round(best["ours"] / best["peer"], 2),
    }


async def count_calls(folder: Path) -> dict[str, float]:
    """Count the model calls of twenty direct steps, and of the same work one call a turn."""
    with model_server({"plan": plan(1, 20), "answer": "done", "delay_s": 0, "turns": []}) as url:
        async with ours(url, made(folder / "calls"), "always") as agent:
            await ask(agent)
            return {"model_calls_for_20_steps": await _model_calls(agent), "model_calls_one_a_turn": 21}


async def _model_calls(agent: Agent) -> int:
    query = "SELECT count(*) FROM usage WHERE kind = 'model'"
    return await agent.stores.database.run("read", lambda c: int(c.execute(query).fetchone()[0]))


async def measure(folder: Path, repeat: int) -> dict[str, float]:
    """Measure everything, one after the other."""
    found = await compare_levels(folder / "levels", repeat)
    found |= await count_calls(folder / "count")
    return found | await compare_cpu(folder / "cpu", max(repeat, 5))


def main() -> None:
    """Read the options, measure, print and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--repeat", type=int, default=5, help="measured runs of each (default 5)")
    given = parser.parse_args()
    SCRATCH.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="peers-", dir=SCRATCH) as folder:
        found = asyncio.run(measure(Path(folder), given.repeat))
    Console().print_json(json.dumps(found))
    join_results(RESULTS, found)


if __name__ == "__main__":
    main()
