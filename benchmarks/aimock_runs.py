"""Whole runs, each with one call that changes something, while all providers roll dice: is any made twice?"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.aimock_server import Aimock, Fixture
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.settings.settings import load

DICE = {"dropRate": 0.08, "malformedRate": 0.08, "rateLimitRate": 0.02, "disconnectRate": 0.08}
ANSWER = "The ticket is open."


@dataclass(frozen=True)
class Runs:
    """How many runs there were and completed, tickets they lack, tickets opened twice, and calls sent."""

    runs: int
    completed: int
    lacking: int
    twice: int
    sent: int

    @property
    def sent_per_call(self) -> float:
        """How many calls were sent for one that is needed; a run needs two."""
        return self.sent / (2 * self.runs)


def fixtures(count: int) -> list[Fixture]:
    """Write what the model of each run says: one call, in pieces, and then the answer."""
    calls = [
        {
            "match": {"userMessage": _request(number), "hasToolResult": False},
            "response": {
                "content": "One moment. ",
                "toolCalls": [{"name": "tickets__create", "arguments": {"title": _title(number)}}],
            },
            "chunkSize": 3,
        }
        for number in range(count)
    ]
    return [*calls, {"match": {"hasToolResult": True}, "response": {"content": ANSWER}}]


async def play_runs(count: int, servers: Sequence[Aimock], folder: Path, at_once: int = 4) -> Runs:
    """Ask for so many tickets, every other time with somebody reading along."""
    providers = {
        f"p{place}": {"base_url": server.base_url, "model": "m", "api_key": "k", "priority": place}
        for place, server in enumerate(servers)
    }
    for server in servers:
        server.play(DICE)
    settings = load(
        folder,
        providers=providers,
        planning={"mode": "never"},
        failover={"base_ms": 1},
        approval={"risk": "High"},
    )
    slots = asyncio.Semaphore(at_once)
    agent = build_graph(settings)

    async def one(number: int) -> bool:
        async with slots:
            return await _ask(agent, number)

    try:
        completed = sum(await asyncio.gather(*(one(number) for number in range(count))))
    finally:
        await asyncio.to_thread(agent.close)
    with closing(sqlite3.connect(folder / "tickets.db")) as database:
        opened = dict(database.execute("SELECT title, count(*) FROM tickets GROUP BY title").fetchall())
    lacking = sum(_title(number) not in opened for number in range(count))
    twice = sum(times - 1 for times in opened.values())
    return Runs(count, completed, lacking, twice, sum(len(server.journal()) for server in servers))


async def _ask(agent: Agent, number: int) -> bool:
    """Ask for one ticket; say whether the run completed with the answer."""
    config: Any = {"configurable": {"thread_id": f"00000000-0000-4000-8000-{number:012d}"}}
    asked = {"messages": [("user", _request(number))]}
    if number % 2:
        async for mode, chunk in agent.astream(asked, config, stream_mode=["messages", "values"]):
            out = chunk if mode == "values" else {}
    else:
        out = await agent.ainvoke(asked, config)
    return (out.get("status"), out.get("answer")) == ("completed", ANSWER)


def _title(number: int) -> str:
    return f"Ticket no. {number:06d}"


def _request(number: int) -> str:
    return f"Open {_title(number)}"
