"""Many requests at once in one process: all of them complete, and nobody is given up for our own queue.

`crowd` sends 1,000 at once to one agent with a store of files, in each shape of a run. Prints a line a
shape, writes `crowd.json`, and exits with 1 where a run did not complete, an effect was not made exactly
once, or a provider that answered was failed over, or left alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.counted_stage import quick_folder
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.graph.building import build_graph
from planwright.settings.settings import load

REQUEST = "Note it down and tell me about it"
PLAN = {"goal": "note", "steps": [{"id": "s1", "capability": "crowd.note", "params": {"text": "a word"}}]}
TURN = [["crowd__note", {"text": "a word"}]]
SCRIPT = {"plan": json.dumps(PLAN), "answer": "It is noted down, and that is all there is to it."}
OPEN = {"approval": {"plan": "never", "risk": "Critical"}}


@dataclass(frozen=True)
class Shape:
    """One way in which all of the crowd go."""

    name: str
    """What the figures are listed under."""
    mode: str
    """When is planned: `always` or `never`."""
    turns: Sequence[object] = ()
    """Replies with calls that a loop gets before its answer."""
    blocks: bool = False
    """Whether the capability blocks a thread, or is awaited."""
    embedded: bool = False
    """Whether the embedded planner serves."""
    streams: bool = True
    """Whether replies are streamed."""


SHAPES = (
    Shape("embedded planner", "auto", embedded=True),
    Shape("plan", "always"),
    Shape("plan, blocking", "always", blocks=True),
    Shape("plan, in one piece", "always", streams=False),
    Shape("loop", "never", turns=(TURN,)),
)


def main() -> int:
    """Play every shape and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="requests at once")
    parser.add_argument("--shape", action="append", choices=[shape.name for shape in SHAPES])
    parser.add_argument("--json", type=Path, default=Path("crowd.json"))
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    for shape in SHAPES:
        if not options.shape or shape.name in options.shape:
            figures[shape.name] = play(shape, options.count)
            print(f"{shape.name:20} {json.dumps(figures[shape.name])}", flush=True)
    options.json.write_text(json.dumps(figures, indent=2) + "\n")
    return int(any(is_bad(figure) for figure in figures.values()))


def is_bad(figure: dict[str, Any]) -> bool:
    """Say whether the figures of a shape miss what has to hold."""
    wrong = figure["failovers"] or figure["breakers"] or figure["effects"] != figure["noted"]
    return bool(wrong or figure["completed"] != figure["at_once"])


def play(shape: Shape, count: int) -> dict[str, Any]:
    """Send so many requests at once; return what came of them."""
    with tempfile.TemporaryDirectory(prefix="crowd-", dir=quick_folder()) as place:
        if shape.embedded:
            return asyncio.run(_ask_all(shape, count, Path(place), ""))
        with _provider({**SCRIPT, "turns": shape.turns}) as url:
            figure = asyncio.run(_ask_all(shape, count, Path(place), url))
            with urllib.request.urlopen(f"{url}/figures") as told:
                return figure | {"provider": json.load(told)}


@contextmanager
def _provider(script: dict[str, Any]) -> Iterator[str]:
    command = [sys.executable, "-m", "benchmarks.crowd_server", json.dumps(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline()) if server.stdout else 0}/v1"
        finally:
            server.kill()


async def _ask_all(shape: Shape, count: int, folder: Path, url: str) -> dict[str, Any]:
    able = ["function_calling", "json_mode", *(["streaming"] if shape.streams else [])]
    providers = {"house": {"base_url": url, "model": "m", "api_key": "k", "capabilities": able}}
    noted: list[str] = []
    settings = load(folder, providers=providers if url else {}, planning={"mode": shape.mode}, **OPEN)
    agent = build_graph(settings, capabilities=[_note(noted, shape.blocks)])
    request = "What tickets are open?" if shape.embedded else REQUEST
    began, worked, latest = time.monotonic(), time.process_time(), 0.0

    async def late() -> None:
        nonlocal latest
        while True:
            at = time.monotonic()
            await asyncio.sleep(0.05)
            latest = max(latest, time.monotonic() - at - 0.05)

    watching = asyncio.create_task(late())
    try:
        ended = await asyncio.gather(*(_ask(agent, request, number) for number in range(count)))
        figures = {
            "at_once": count,
            **Counter(ended),
            "seconds": round(time.monotonic() - began, 1),
            "cpu_s": round(time.process_time() - worked, 1),
            "loop_late_at_most_s": round(latest, 2),
            "noted": len(noted),
            **agent.stores.database.call("read", lambda c: dict(c.execute(COUNTED).fetchone())),
        }
    finally:
        watching.cancel()
        await agent.aclose()
    return {"completed": 0, **figures}


COUNTED = """SELECT (SELECT count(*) FROM effects WHERE status = 'done') AS effects,
    (SELECT count(*) FROM journal WHERE type = 'failover') AS failovers,
    (SELECT count(*) FROM journal WHERE type = 'failover'
        AND json_extract(data, '$.failure') = 'ProviderResting') AS breakers,
    (SELECT group_concat(DISTINCT json_extract(data, '$.cause')) FROM journal
        WHERE type = 'failover') AS causes,
    (SELECT count(*) FROM journal WHERE type = 'llm_call') AS model_calls"""


async def _ask(agent: Any, request: str, number: int) -> str:
    config = {"configurable": {"thread_id": f"t{number}"}}
    ended = await agent.ainvoke({"messages": [("user", request)]}, config)
    return str(ended["status"])


def _note(noted: list[str], blocks: bool) -> Capability:
    """Declare what each run does once."""

    async def awaited(text: str) -> str:
        """Note a text down."""
        await asyncio.sleep(0.01)
        noted.append(text)
        return "noted"

    def blocking(text: str) -> str:
        """Note a text down."""
        time.sleep(0.01)
        noted.append(text)
        return "noted"

    declare = capability("crowd.note", mode="local_write", risk="Low", effect="blind", trusted_result=True)
    return declare(blocking if blocks else awaited)


if __name__ == "__main__":
    sys.exit(main())
