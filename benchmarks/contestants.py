"""Who is measured beside whom: Planwright, the raw client, LangChain's agent with and without its saver.

All are given the same model over HTTP, the same tools and the same script of calls.
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from openai import AsyncOpenAI
from pydantic import SecretStr

from benchmarks.figures import Job
from benchmarks.peers import bench__work, datetime__now, memory__search, work
from planwright.capabilities.declaration import capability
from planwright.capabilities.registry import load_registry
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.settings.settings import load

PAGE_BYTES = 1024
REQUEST = "Do bench work, and read the pages of the bench"


def page_text(number: int) -> str:
    """Write a page of 1,024 letters and digits, another for each number."""
    return base64.b64encode(random.Random(f"page {number}").randbytes(PAGE_BYTES * 3 // 4)).decode()


@capability("bench.page", trusted_result=True, mode="read_only")
async def page(number: int) -> str:
    """Read a page."""
    return page_text(number)


@tool
async def bench__page(number: int) -> str:
    """Read a page."""
    return page_text(number)


TOOLS: tuple[BaseTool, ...] = (bench__work, bench__page, datetime__now, memory__search)


def page_calls(count: int) -> list[str | dict[str, Any]]:
    """Write the replies of a model that reads so many pages, one a turn, and ends."""
    calls = [
        {"content": "", "tool_calls": [{"name": "bench__page", "args": {"number": n}, "id": f"c{n}"}]}
        for n in range(count)
    ]
    return [*calls, "done"]


@asynccontextmanager
async def planwright_at(
    model: str | BaseChatModel, folder: Path, mode: str = "never", **sections: Any
) -> AsyncIterator[Agent]:
    """Open Planwright on a model or a URL, with its store in a folder and limits beyond any job."""
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    url, own = (model, None) if isinstance(model, str) else ("http://127.0.0.1:1/v1", model)
    settings = load(
        folder,
        **{
            "providers": {"bench": {"base_url": url, "model": "m", "capabilities": ["function_calling"]}},
            "planning": {"mode": mode, "max_steps": 100},
            "budgets": {"run": {"tool_calls": 10_000}},
            "execution": {"max_parallel_steps": 64, "max_tool_iterations": 500},
            "tools": {"filter": "fit"},
            "capabilities": {"prohibit": _other_built_ins(folder)},
            **sections,
        },
    )
    agent = build_graph(settings, model=own, capabilities=[work, page])
    try:
        yield agent
    finally:
        await agent.aclose()


def _other_built_ins(workspace: Path) -> list[str]:
    """Name the built-in capabilities that the peers have no tool for."""
    named = {"respond", *(tool.name for tool in TOOLS)}  # `respond` is a step of every plan
    return [each.name for each in load_registry(workspace) if each.name.replace(".", "__") not in named]


@asynccontextmanager
async def stock_agent(model: str | BaseChatModel, database: Path | None) -> Any:
    """Open LangChain's agent on a model or a URL; it keeps nothing where no file is named."""
    if isinstance(model, str):
        model = ChatOpenAI(model="m", base_url=model, api_key=SecretStr("none"), max_retries=0)
    tools = list(TOOLS)
    if database is None:
        yield create_agent(model, tools)
        return
    await asyncio.to_thread(database.parent.mkdir, parents=True, exist_ok=True)
    async with AsyncSqliteSaver.from_conn_string(str(database)) as saver:
        yield create_agent(model, tools, checkpointer=saver)


@contextmanager
def volatile_folder() -> Iterator[Path]:
    """Lend a folder in memory, where nothing is kept."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        yield Path(folder)


def job_of(agent: Any, durability: str | None = "sync") -> Job:
    """Make the job of an agent: one request on a thread of its own."""

    async def job() -> None:
        config = {"configurable": {"thread_id": str(uuid.uuid4())}, "recursion_limit": 10_000}
        given = {"messages": [{"role": "user", "content": REQUEST}]}
        options = {"durability": durability} if durability else {}
        out = await agent.ainvoke(given, config, **options)
        if str(out["messages"][-1].content) != "done":
            raise RuntimeError(f"the job was not done: {out['messages'][-1].content}")

    return job


def raw_job(client: AsyncOpenAI) -> Job:
    """Make the job of the raw client: the loop that anybody would write, with nothing recorded."""
    specs: Any = [convert_to_openai_tool(tool) for tool in TOOLS]
    named = {tool.name: tool for tool in TOOLS}

    async def job() -> None:
        messages: list[Any] = [{"role": "user", "content": REQUEST}]
        while True:
            reply = await client.chat.completions.create(model="m", messages=messages, tools=specs)
            message = reply.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                return
            for call in message.tool_calls:
                if call.type != "function":
                    continue
                coroutine: Any = getattr(named[call.function.name], "coroutine")  # noqa: B009
                content = await coroutine(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": content})

    return job
