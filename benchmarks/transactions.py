"""The transactions of a run: each commit, by the names of the jobs that went with it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.contestants import page
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.records.stores import open_stores
from planwright.settings.settings import load

BEFORE = "before "


@contextmanager
def counted_agent(folder: Path, commits: list[str], replies: list[Any], **sections: Any) -> Iterator[Agent]:
    """Open an agent with a scripted model whose store adds a line to `commits` for each commit."""

    def reached(boundary: str) -> None:
        file, _, place = boundary.partition(": ")
        if place.startswith(BEFORE):
            commits.append(f"{file}: {place.removeprefix(BEFORE)}")

    folder.mkdir(parents=True, exist_ok=True)
    settings = load(folder, **sections)
    stores = open_stores(settings.store_folder, boundary=reached)
    model = ScriptedModel(replies=replies)
    with build_graph(settings, model=model, stores=stores, capabilities=[page]) as agent:
        yield agent


def chain_plan(steps: int) -> str:
    """Write a plan of pages that are read one after the other."""
    names = [f"s{number}" for number in range(steps)]
    needs = {second: [first] for first, second in pairwise(names)}
    return json.dumps(
        {
            "goal": "Read pages",
            "steps": [
                {
                    "id": name,
                    "capability": "bench.page",
                    "params": {"number": n},
                    "depends_on": needs.get(name, []),
                }
                for n, name in enumerate(names)
            ],
        }
    )


async def chain_commits(folder: Path, steps: int) -> list[str]:
    """List the commits of a run whose plan is a chain of calls without effects, the second on its store."""
    commits: list[str] = []
    replies = [chain_plan(steps), "done"] * 2
    with counted_agent(folder, commits, replies, planning={"mode": "always", "max_steps": 100}) as agent:
        for _ in range(2):
            commits.clear()
            config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}}
            await agent.ainvoke({"messages": [("user", "Read the pages")]}, config)
    return commits
