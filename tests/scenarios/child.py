"""One process of a scene: enter the graph some times, print what came out, and perhaps die.

The only argument is a JSON object: `workspace`, `settings`, `entries` (each names its `thread`, `how`
it enters, and a `message`, a `resume` or neither, perhaps a `checkpoint_id`), `replies`, `alternatives`
and `memories` of the scripted model (none: the embedded planner), `die` (end with SIGKILL right after the
last entry), `die_at` (the name of the job of the store after whose commit to end so), `die_when` (`before`
that commit), `die_short_of` (the number of the checkpoint of the graph before which to end so, with all that
was written before it on record) and `inside` (enter a graph of another's making, with the agent as a node).
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command

from planwright.checkpoints.saver import Saver
from planwright.domain.errors import PlanwrightError
from planwright.graph import build_graph, open_agent
from planwright.graph.agent import Agent
from planwright.models.scripted import ScriptedModel
from planwright.records.stores import open_stores
from planwright.settings.settings import load
from planwright.store.database import Boundary

MODES = ["updates", "custom"]


def given(entry: dict[str, Any]) -> Any:
    """Read what goes into the graph."""
    if "message" in entry:
        return {"messages": [("user", entry["message"])]}
    return Command(resume=entry["resume"]) if "resume" in entry else None


def enter(agent: Any, entry: dict[str, Any]) -> dict[str, Any]:
    """Enter the graph once, in the way the entry names."""
    at = {name: entry[name] for name in ("checkpoint_id",) if name in entry}
    config: RunnableConfig = {"configurable": {"thread_id": entry["thread"], **at}}
    if entry["how"] == "fork":
        agent.fork(entry["thread"], rerun=entry["rerun"], thread_id=entry["into"])
        return {}
    if entry["how"] == "undo":
        agent.undo(entry["thread"], thread_id=entry["into"])
        return {}
    if entry["how"] == "invoke":
        return report(agent.invoke(given(entry), config))
    if entry["how"] == "ainvoke":
        return report(asyncio.run(agent.ainvoke(given(entry), config)))
    if entry["how"] == "stream":
        return gathered(list(agent.stream(given(entry), config, stream_mode=MODES)))

    async def collect() -> list[Any]:
        return [chunk async for chunk in agent.astream(given(entry), config, stream_mode=MODES)]

    return gathered(asyncio.run(collect()))


def report(output: dict[str, Any]) -> dict[str, Any]:
    """Report a whole output."""
    waiting = output.get("__interrupt__", ())
    return {
        "answer": output.get("answer", ""),
        "status": output.get("status", ""),
        "waiting": [found.value for found in waiting],
        "events": [],
    }


def gathered(chunks: list[Any]) -> dict[str, Any]:
    """Report the chunks of a stream."""
    output: dict[str, Any] = {}
    for mode, chunk in chunks:
        if mode == "updates":
            for name, update in chunk.items():
                output |= {"__interrupt__": update} if name == "__interrupt__" else update or {}
    return report(output) | {"events": [chunk for mode, chunk in chunks if mode == "custom"]}


def deadly(job_name: str | None, when: str = "after") -> Boundary:
    """Make a boundary that ends this process right after, or before, a commit that holds a certain job."""

    def boundary(name: str) -> None:
        _, moment, jobs = name.split(maxsplit=2)
        if moment == when and job_name in jobs.split("+"):
            os.kill(os.getpid(), signal.SIGKILL)

    return boundary


class Mine(MessagesState, total=False):
    """The state of a graph that has an agent as a node."""

    answer: str
    status: str


def put_inside(agent: Agent, saver: Saver) -> Any:
    """Make an agent a node of a graph that keeps its checkpoints by itself."""
    graph = StateGraph(Mine)
    graph.add_node("agent", agent)
    graph.add_edge(START, "agent")
    graph.add_edge("agent", END)
    return graph.compile(checkpointer=saver)


def die_short_of(saver: Saver, number: int) -> None:
    """End this process before a checkpoint is written, once what its tasks wrote is on record."""
    put, numbers = saver.aput, itertools.count(1)

    async def aput(*args: Any) -> RunnableConfig:
        if next(numbers) == number:
            await saver.database.run("landed", lambda _: None)
            os.kill(os.getpid(), signal.SIGKILL)
        return await put(*args)

    saver.aput = aput  # type: ignore[assignment,method-assign]


def play(job: dict[str, Any]) -> dict[str, Any]:
    """Carry out a job and return the report of it."""
    settings = load(job["workspace"], **job.get("settings", {}))
    said = {name: job[name] for name in ("replies", "alternatives", "memories") if name in job}
    model = ScriptedModel(**said) if said else None
    if model:
        boundary = deadly(job.get("die_at"), job.get("die_when", "after"))
        stores = open_stores(settings.store_folder, boundary=boundary, url=settings.store_url)
        agent = build_graph(settings, model=model, stores=stores)
    else:
        agent = open_agent(Path(job["workspace"]))
    graph: Any = agent
    saver = agent.stores.saver
    if job.get("inside"):
        saver = open_stores(settings.store_folder, url=settings.store_url).saver
        graph = put_inside(agent, saver)
    if "die_short_of" in job:
        die_short_of(saver, job["die_short_of"])
    outputs = []
    for entry in job["entries"]:
        try:
            outputs.append(enter(graph, entry))
        except PlanwrightError as error:
            outputs.append({"refused": f"{type(error).__name__}: {error}"})
    if not job.get("die"):
        agent.close()
        saver.database.close()
    asked = [[message.text for message in call] for call in model.prompts] if model else []
    return {"outputs": outputs, "asked": asked}


def main() -> None:
    """Carry out the job of the command line, with warnings as errors, print its report, and perhaps die."""
    warnings.simplefilter("error")
    job = json.loads(sys.argv[1])
    print(json.dumps(play(job)), flush=True)
    if job.get("die"):
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
