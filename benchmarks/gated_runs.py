"""Runs that wait at a gate, and bare LangGraph threads that wait at an interrupt: filled, copied and resumed.

`python -m benchmarks.gated_runs FOLDER FIRST COUNT` opens a workspace, says "ready", waits for a line on
stdin, and approves so many of its runs one after the other.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import StateGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from planwright.capabilities.declaration import capability
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.settings.settings import load

APPROVE = {"type": "approve", "decided_by": "bench"}
STORE = Path(".planwright", "planwright.db")


@capability("bench.note", mode="local_write", effect="idempotent", risk="Medium")
async def note(number: int) -> str:
    """Write a note."""
    return f"note {number}"


def thread(number: int) -> Any:
    """Name the thread of a run, as a config."""
    return {"configurable": {"thread_id": f"gated-{number}"}}


def open_gated(folder: Path) -> Agent:
    """Open Planwright on a workspace whose runs are single calls that ask."""
    folder.mkdir(parents=True, exist_ok=True)
    return build_graph(load(folder), capabilities=[note])


async def wait_at_gate(agent: Agent, number: int) -> None:
    """Begin a run, and leave it at its gate."""
    thread_id = thread(number)["configurable"]["thread_id"]
    config = await agent.acall("bench.note", {"number": number}, thread_id=thread_id)
    out = await agent.ainvoke(None, config)
    if "__interrupt__" not in out:
        raise RuntimeError(f"a run did not wait: {out['status']}")


async def approve(agent: Agent, number: int) -> None:
    """Approve what a run waits for, and see it to its end."""
    out = await agent.ainvoke(Command(resume=APPROVE), thread(number))
    if out["status"] != "completed":
        raise RuntimeError(f"a run did not complete: {out['answer']}")


def crowd(folder: Path, number: int, count: int) -> None:
    """Copy all rows of a waiting run so many times: as large a store as if so many waited.

    The copies are listed and counted, and they are in every index; their state is that of the first.
    """
    with closing(sqlite3.connect(folder / STORE)) as connection, connection:
        thread_id = thread(number)["configurable"]["thread_id"]
        (run_id,) = connection.execute("SELECT run_id FROM runs WHERE thread_id = ?", (thread_id,)).fetchone()
        (gate_id,) = connection.execute("SELECT gate_id FROM gates WHERE run_id = ?", (run_id,)).fetchone()
        names = {"thread": thread_id, "run": run_id, "gate": gate_id, "count": count}
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            columns = [row[1:3] for row in connection.execute(f"PRAGMA table_info({table})")]
            key = next((name for name in ("run_id", "thread_id") if name in dict(columns)), None)
            if key is None or "n" in dict(columns):  # a copy of a numbered entry is no entry of its chain
                continue
            owner = ":run" if key == "run_id" else ":thread"
            values = ", ".join(_copied(name) if kind == "TEXT" else name for name, kind in columns)
            connection.execute(
                "WITH RECURSIVE copies(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE n < :count)"
                f" INSERT INTO {table} ({', '.join(name for name, _ in columns)})"
                f" SELECT {values} FROM copies JOIN {table} ON {key} = {owner}",
                names,
            )


def _copied(column: str) -> str:
    text = column
    for name in (":thread", ":run", ":gate"):
        text = f"replace({text}, {name}, {name} || '-' || n)"
    return text


class _BareState(TypedDict, total=False):
    number: int
    approved: bool
    result: str
    answer: str


def _gate(state: _BareState) -> _BareState:
    return {"approved": interrupt({"call": "note", "number": state["number"]}) == "approve"}


async def _act(state: _BareState) -> _BareState:
    return {"result": f"note {state['number']}" if state["approved"] else ""}


def _answer(state: _BareState) -> _BareState:
    return {"answer": f"Done: {state['result']}"}


@asynccontextmanager
async def bare_graph(database: Path) -> AsyncIterator[Any]:
    """Open a graph of LangGraph alone that asks, acts and answers, on its own saver."""
    builder = StateGraph(_BareState)
    builder.add_node("gate", _gate).add_node("act", _act).add_node("answer", _answer)
    builder.set_entry_point("gate").add_edge("gate", "act").add_edge("act", "answer")
    async with AsyncSqliteSaver.from_conn_string(str(database)) as saver:
        yield builder.compile(checkpointer=saver)


async def bare_wait(graph: Any, number: int) -> None:
    """Begin a thread of bare LangGraph, and leave it at its interrupt."""
    await graph.ainvoke({"number": number}, thread(number), durability="sync")


async def bare_approve(graph: Any, number: int) -> None:
    """Resume a thread of bare LangGraph, and see it to its end."""
    out = await graph.ainvoke(Command(resume="approve"), thread(number), durability="sync")
    if out["answer"] != f"Done: note {number}":
        raise RuntimeError(f"a thread did not complete: {out}")


async def _work(folder: Path, first: int, count: int) -> None:
    agent = open_gated(folder)
    try:
        await approve(agent, first)  # one to warm up
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        for number in range(first + 1, first + count):
            await approve(agent, number)
        print("done", flush=True)
    finally:
        await agent.aclose()


if __name__ == "__main__":
    asyncio.run(_work(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
