"""A plan of three steps, whose process says when it is in the second one and stays there."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path

from planwright.capabilities.declaration import capability
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.settings.settings import load
from planwright.store.database import RIDE_S

THREAD_PREFIX = "killed-"
PLAN = {
    "goal": "Take three steps",
    "steps": [
        {
            "id": f"s{n}",
            "capability": "bench.step",
            "params": {"number": n},
            "depends_on": [f"s{n - 1}"][: n - 1],
        }
        for n in (1, 2, 3)
    ],
}


def open_recovering(folder: Path, called: Callable[[], object], runs: int, stays_in: int = 0) -> Agent:
    """Open an agent on the store of a folder; `called` hears of each step, and one step may never end."""

    @capability("bench.step", trusted_result=True, mode="read_only")
    async def step(number: int) -> str:
        """Take a step."""
        if number == stays_in:
            await asyncio.sleep(4 * RIDE_S)  # the first step is on record by then
            print("second step", flush=True)
            await asyncio.Event().wait()
        called()
        return "ok"

    folder.mkdir(parents=True, exist_ok=True)
    settings = load(folder, planning={"mode": "always"})
    model = ScriptedModel(replies=[json.dumps(PLAN), *["It is done."] * (runs + 1)])
    return build_graph(settings, model=model, capabilities=[step])


async def main() -> None:
    """Run the plan on a thread."""
    folder, thread = sys.argv[1:]
    with open_recovering(Path(folder), lambda: None, 1, stays_in=2) as agent:
        await agent.ainvoke({"messages": [("user", "Go")]}, {"configurable": {"thread_id": thread}})


if __name__ == "__main__":
    asyncio.run(main())
