"""One worker of `hosts`: eight runs of three effects and a gate at once, ours or bare LangGraph's.

`python -m benchmarks.host_worker ours|saver URL FOLDER SECONDS` says "ready", waits for a line on stdin, and
prints how many runs it brought to their ends, in how many seconds, with how much CPU.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from langchain_core.messages import BaseMessage
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from planwright.capabilities.declaration import capability
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.settings.settings import load

AT_ONCE, STEPS = 8, 3
PLAN = {
    "goal": "Write notes",
    "steps": [
        {
            "id": f"s{n}",
            "capability": "bench.note",
            "params": {"number": n},
            "depends_on": [f"s{n - 1}"] if n else [],
        }
        for n in range(STEPS)
    ],
}
APPROVE = {"type": "approve", "decided_by": "bench"}
REQUEST = {"messages": [("user", "Write three notes")]}
Play = Callable[[], Awaitable[None]]


@capability("bench.note", mode="local_write", effect="idempotent", risk="Medium")
async def note(number: int) -> str:
    """Write a note."""
    return f"note {number}"


class Clerk(ScriptedModel):
    """Plans where a plan is wanted, else says that it is done."""

    def _reply(self, messages: list[BaseMessage]) -> str | dict[str, Any]:
        return json.dumps(PLAN) if str(messages[0].content).startswith("Role: planner") else "Noted."


@asynccontextmanager
async def ours(url: str, folder: Path) -> AsyncIterator[Play]:
    """Open a workspace whose store is the server."""
    settings = load(folder, planning={"mode": "always"}, storage={"url": url})

    async def play() -> None:
        config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}}
        out = await agent.ainvoke(REQUEST, config)
        assert "__interrupt__" in out, out
        out = await agent.ainvoke(Command(resume=APPROVE), config)
        assert out["status"] == "completed", out

    with build_graph(settings, model=Clerk(replies=["-"]), capabilities=[note]) as agent:
        yield play


class _State(TypedDict, total=False):
    messages: list[Any]
    plan: list[int]
    approved: bool
    notes: str
    answer: str


@asynccontextmanager
async def saver(url: str, _: Path) -> AsyncIterator[Play]:
    """Open a graph with as many nodes on LangGraph's own saver for PostgreSQL."""
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver  # type: ignore[import-not-found]

    async def act(state: _State) -> _State:
        return {"notes": state.get("notes", "") + "note "}

    builder = StateGraph(_State)
    builder.add_node("plan", lambda _: {"plan": [*range(STEPS)]})
    builder.add_node("gate", lambda state: {"approved": interrupt(state["plan"]) == APPROVE})
    for n in range(STEPS):
        builder.add_node(f"act{n}", act)
    builder.add_node("answer", lambda _: {"answer": "Noted."})
    names = [START, "plan", "gate", *(f"act{n}" for n in range(STEPS)), "answer", END]
    for name, after in itertools.pairwise(names):
        builder.add_edge(name, after)
    async with AsyncPostgresSaver.from_conn_string(url) as store:
        await store.setup()
        graph = builder.compile(checkpointer=store)

        async def play() -> None:
            config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}}
            await graph.ainvoke(cast(_State, REQUEST), config)
            out = await graph.ainvoke(Command(resume=APPROVE), config)
            assert out["answer"] == "Noted.", out

        yield play


async def main(kind: str, url: str, folder: Path, seconds: float) -> None:
    """Play runs for so long."""
    async with {"ours": ours, "saver": saver}[kind](url, folder) as play:
        await play()
        print("ready", flush=True)
        sys.stdin.readline()
        cpu_s, began, done = time.process_time(), time.monotonic(), 0

        async def lane() -> None:
            nonlocal done
            while time.monotonic() < began + seconds:
                await play()
                done += 1

        await asyncio.gather(*(lane() for _ in range(AT_ONCE)))
        took_s, cpu_s = time.monotonic() - began, time.process_time() - cpu_s
        print(json.dumps({"runs": done, "seconds": took_s, "cpu_s": cpu_s}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), float(sys.argv[4])))
