"""Planwright beside LangChain's create_agent: the same model, the same number of tools, in turn.

Twenty direct steps in model calls. Each number is joined to `bench.json`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import httpx
from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from pydantic import Field, SecretStr
from rich.console import Console

from benchmarks.figures import RESULTS, SCRATCH, join_results
from planwright.capabilities.declaration import capability
from planwright.domain.run_context import RunContext
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.settings.settings import load

LEVELS, WIDTH = 3, 3
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
    """Tell the current date, time and weekday in a time zone."""
    return {"timezone": timezone}


@tool
async def memory__search(
    query: Annotated[str, Field(description="words to look for")],
    limit: Annotated[int, Field(ge=1, le=100)] = 5,
) -> list[str]:
    """Search what the user asked to be remembered."""
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
            **({"depends_on": [f"s{level - 1}_{other}" for other in range(width)]} if level else {}),
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
async def ours(url: str, folder: Path, mode: str, *, built_in: bool = True) -> Any:
    """Open Planwright on a model, with all that is built in or with the tools of the peer alone."""
    settings = load(
        folder,
        providers={"bench": {"base_url": url, "model": "m", "capabilities": ["function_calling"]}},
        planning={"mode": mode, "max_steps": 100},
        execution={"max_parallel_steps": 64},
        agents={"peer": {"tools": [] if built_in else ["bench.work", "datetime.now", "memory.search"]}},
    )
    agent = build_graph(settings, capabilities=[work])
    try:
        yield agent
    finally:
        await agent.aclose()


async def ask(agent: Any) -> None:
    """Do the job once, durably."""
    request = {"messages": [{"role": "user", "content": "Bench work"}]}
    await agent.ainvoke(request, config(), durability="sync")


@contextlib.asynccontextmanager
async def peer(url: str, folder: Path) -> Any:
    """Open LangChain's agent on the same model, with its SQLite saver."""
    model = ChatOpenAI(model="m", base_url=url, api_key=SecretStr("none"), max_retries=0)
    async with AsyncSqliteSaver.from_conn_string(str(folder / "peer.db")) as saver:
        yield create_agent(model, [bench__work, datetime__now, memory__search], checkpointer=saver)


async def count_calls(folder: Path) -> dict[str, float]:
    """Count the model calls of twenty direct steps, and of the same work one call a turn."""
    with model_server({"plan": plan(1, 20), "answer": "done", "delay_s": 0, "turns": []}) as url:
        async with ours(url, made(folder / "calls"), "always") as agent:
            await ask(agent)
            return {"model_calls_for_20_steps": await _model_calls(agent), "model_calls_one_a_turn": 21}


async def count_tokens(folder: Path) -> dict[str, float]:
    """Count the tokens of twenty steps: planned, in the loop, and by create_agent, over the same tools."""
    script = {"plan": plan(1, 20), "answer": "done", "delay_s": 0}
    script["turns"] = turns(*([(0, lane)] for lane in range(20)))
    tokens: dict[str, int] = {}
    ways = {
        "planned": ("always", False),
        "planned_with_built_ins": ("always", True),
        "loop": ("never", False),
    }
    for name, (mode, built_in) in ways.items():
        with model_server(script) as url:
            async with ours(url, made(folder / name), mode, built_in=built_in) as agent:
                context = None if built_in else RunContext(agent="peer")
                request = {"messages": [{"role": "user", "content": "Bench work"}]}
                await agent.ainvoke(request, config(), context=context)
                tokens[name] = await _tokens(url)
    with model_server(script) as url:
        async with peer(url, made(folder / "peer")) as agent:
            await ask(agent)
            tokens["create_agent"] = await _tokens(url)
    theirs = tokens["create_agent"]
    return {f"tokens_for_20_steps_{name}": count for name, count in tokens.items()} | {
        "tokens_fewer_planned": round(theirs / tokens["planned"], 2),
        "tokens_fewer_planned_with_built_ins": round(theirs / tokens["planned_with_built_ins"], 2),
        "tokens_loop_ratio": round(tokens["loop"] / theirs, 3),
    }


async def _tokens(url: str) -> int:
    async with httpx.AsyncClient() as client:
        return int((await client.get(url)).text)


async def _model_calls(agent: Agent) -> int:
    query = "SELECT count(*) FROM usage WHERE kind = 'model'"
    return await agent.stores.database.run("read", lambda c: int(c.execute(query).fetchone()[0]))


async def measure(folder: Path) -> dict[str, float]:
    """Count the calls."""
    return await count_calls(folder / "count") | await count_tokens(folder / "tokens")


def main() -> None:
    """Measure, print and write."""
    SCRATCH.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="peers-", dir=SCRATCH) as folder:
        figures = asyncio.run(measure(Path(folder)))
    Console().print_json(json.dumps(figures))
    join_results(RESULTS, figures)


if __name__ == "__main__":
    main()
