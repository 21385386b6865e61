"""P4: the CPU of a model turn in the durable loop.

The raw client, Planwright, LangChain's agent with and without its saver, and pydantic-ai carry out the same
loop of 30 turns in turn, against a model over HTTP in a process of its own.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from openai import AsyncOpenAI

from benchmarks.contestants import job_of, planwright_at, raw_job, stock_agent
from benchmarks.figures import Effort, Figure, Job, Spent, in_turn
from benchmarks.peers import model_server, turns
from benchmarks.pydantic_ai_peer import pydantic_ai_job

TURNS = 30


async def measure(folder: Path, effort: Effort) -> list[Figure]:
    """Measure the loop in wall clock and CPU."""
    script = {"plan": "", "answer": "done", "delay_s": 0, "turns": turns(*([(n, -1)] for n in range(TURNS)))}
    async with AsyncExitStack() as stack:
        url = stack.enter_context(model_server(script))
        ours = await stack.enter_async_context(planwright_at(url, folder / "ours"))
        stock = await stack.enter_async_context(stock_agent(url, folder / "stock" / "stock.db"))
        stock_bare = await stack.enter_async_context(stock_agent(url, None))
        client = await stack.enter_async_context(AsyncOpenAI(base_url=url, api_key="none", max_retries=0))
        jobs: dict[str, Job] = {
            "raw": raw_job(client),
            "ours": job_of(ours),
            "create_agent": job_of(stock),
            "create_agent, no saver": job_of(stock_bare, None),
        }
        if other := stack.enter_context(pydantic_ai_job(url)):
            jobs["pydantic-ai"] = other
        spent = await in_turn(jobs, effort.repeat)
    return _turn_figures(spent)


def _turn_figures(spent: dict[str, Spent]) -> list[Figure]:
    cpu = {name: each.cpu_s / (TURNS + 1) * 1000 for name, each in spent.items()}
    shown = [Figure("P4", f"CPU ms a turn, {name}", round(ms, 2)) for name, ms in cpu.items()]
    return [
        Figure("P4", "CPU of a durable turn / raw client", round(cpu["ours"] / cpu["raw"], 2), 1.5),
        Figure(
            "P4", "CPU of a durable turn / create_agent", round(cpu["ours"] / cpu["create_agent"], 2), 1.0
        ),
        *shown,
    ]
