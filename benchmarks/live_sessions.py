"""A process with many live sessions, each in the middle of its loop: how much memory does it take?

`python -m benchmarks.live_sessions ours|stock URL FOLDER COUNT` loads what that agent needs and no more. It
prints the kilobytes of the process with one session, and with all.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from pathlib import Path
from typing import Any

waiting: list[int] = []
_sessions: list[asyncio.Task[Any]] = []  # so that none is collected


async def _wait(number: int) -> str:
    """Wait for what never comes."""
    waiting.append(number)
    return str(await asyncio.Event().wait())


async def _page(number: int) -> str:
    """Read a page."""
    return f"page {number} " * 100


def memory_kb() -> int:
    """Read the share of memory that belongs to this process (PSS)."""
    gc.collect()
    lines = Path("/proc/self/smaps_rollup").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def ours(url: str, folder: Path) -> Any:
    """Open Planwright with a store on the disk."""
    from planwright.capabilities.declaration import capability
    from planwright.capabilities.registry import load_registry
    from planwright.graph.building import build_graph
    from planwright.settings.settings import load

    folder.mkdir(parents=True, exist_ok=True)
    settings = load(
        folder,
        providers={"bench": {"base_url": url, "model": "m", "capabilities": ["function_calling"]}},
        planning={"mode": "never"},
        tools={"top_k": 10},
        capabilities={"prohibit": [each.name for each in load_registry(folder) if each.name != "respond"]},
        execution={"step_timeout_s": 3600},
    )
    own = [
        capability(name, trusted_result=True, mode="read_only")(function)
        for name, function in (("bench.wait", _wait), ("bench.page", _page))
    ]
    return build_graph(settings, capabilities=own)


def stock(url: str) -> Any:
    """Open LangChain's agent without a saver."""
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    tools = [tool("bench__wait")(_wait), tool("bench__page")(_page)]
    return create_agent(ChatOpenAI(model="m", base_url=url, api_key=SecretStr("none"), max_retries=0), tools)


async def hold(agent: Any, count: int) -> None:
    """Begin so many sessions, and return when each of them waits in a call."""

    async def session(number: int) -> Any:
        config = {"configurable": {"thread_id": f"session-{number}"}, "recursion_limit": 1000}
        words = [{"role": "user", "content": "Read a page of the bench, and wait"}]
        return await agent.ainvoke({"messages": words}, config)

    for number in range(len(waiting), len(waiting) + count):
        begun = asyncio.create_task(session(number))
        _sessions.append(begun)
        while len(waiting) == number:
            await asyncio.sleep(0.002)
            if begun.done():
                raise RuntimeError(f"a session ended: {begun.result()}")


async def main() -> None:
    """Hold one session to warm up, then all, and print both sizes."""
    kind, url, folder, count = sys.argv[1:]
    agent = ours(url, Path(folder)) if kind == "ours" else stock(url)
    await hold(agent, 1)
    before = memory_kb()
    await hold(agent, int(count) - 1)
    print(before, memory_kb(), flush=True)
    os._exit(0)  # the sessions never end


if __name__ == "__main__":
    asyncio.run(main())
