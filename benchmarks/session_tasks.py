"""What a process does for a session: it queues it, is a worker, or is a person."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from benchmarks.counted_person import Person
from benchmarks.counted_stage import THREAD, Stage, config
from benchmarks.session_shapes import SessionShape
from planwright.domain.errors import RunError
from planwright.domain.run_context import RunContext
from planwright.extras.worker.worker import Worker
from planwright.graph.agent import Agent

Task = Callable[[Stage, Agent], None]
TTL_S = 0.4
RUNS = "SELECT * FROM runs ORDER BY rowid"
IN_DOUBT = (
    "SELECT e.key, e.run_id, json_extract(e.args, '$.name') AS name FROM effects e JOIN runs r USING (run_id)"
    " WHERE e.status IN ('intent', 'in_doubt') AND r.status = 'escalated'"
)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Leap:
    """A clock that stands at noon, and a minute later once a worker has `begun`."""

    def __init__(self) -> None:
        self.begun = False

    def __call__(self) -> datetime:
        """Read it."""
        return NOON + timedelta(seconds=61) if self.begun else NOON


def enqueue(stage: Stage, agent: Agent) -> None:
    """Queue the session."""
    shape = stage.shape
    assert isinstance(shape, SessionShape)
    ttl_s = TTL_S if shape.expires else None
    context = RunContext(planning_mode=shape.mode)
    agent.enqueue(shape.request, thread_id=THREAD, context=context, ttl_s=ttl_s)


def work(stage: Stage, agent: Agent) -> None:
    """Be a worker until there is nothing to do."""

    async def run() -> None:
        async with agent:
            worker = Worker(agent)
            if isinstance(stage.clock, Leap):
                stage.clock.begun = True
            await worker.run(until_idle=True)

    asyncio.run(run())


def person(stage: Stage, agent: Agent) -> None:
    """Be a person who takes one step."""
    Person(stage, agent).step()


def resume(stage: Stage, agent: Agent) -> None:
    """Queue a paused session again."""
    thread = _thread(stage)
    with contextlib.suppress(RunError):  # who was killed had done it
        agent.loop.call(lambda: agent.stores.sessions.resume(thread, "ann"))


def settle(stage: Stage, agent: Agent) -> None:
    """Say of effects that a cancelled session left in doubt what the receiver knows."""
    for row in stage.rows(IN_DOUBT):
        happened = stage.receiver.count(row["name"]) > 0
        answer = {"key": row["key"], "happened": happened, "result": {"name": row["name"]}}
        agent.decide_effects(row["run_id"], [answer], "ann")


def ask(stage: Stage, agent: Agent) -> None:
    """Ask of the session what its shape says."""
    thread, shape = _thread(stage), stage.shape
    assert isinstance(shape, SessionShape)
    with contextlib.suppress(RunError):  # who was killed had done it
        if shape.asks == "pause":
            agent.pause(thread, "ann")
        elif shape.asks == "extend":
            agent.extend(thread, {"tool_calls": 10}, "ann")
        else:
            agent.loop.call(lambda: agent.door.control.cancel(thread, "ann"))


def read_again(stage: Stage, agent: Agent) -> None:
    """Read each run as its thread has it, and compare that with its row.

    The thread of one that was ended from outside is closed by that, with an answer of its own.
    """
    wrong = []
    for run in stage.rows(RUNS):
        thread = config(run["thread_id"])
        if "run_id" not in agent.get_state(thread).values:
            continue  # it ended in the queue, or before its first node
        values = agent.invoke(None, thread)
        same = run["cancelled_by"] or values.get("answer") == run["answer"]
        if values.get("status") != run["status"] or not same:
            answers = json.dumps([values.get("answer"), run["answer"]])
            wrong.append(f"its thread says {values.get('status')}, its row {run['status']}: {answers}")
    (stage.workspace.parent / "wrong").write_text("\n".join(wrong))


def _thread(stage: Stage) -> str:
    return str(stage.rows(RUNS)[0]["thread_id"])
