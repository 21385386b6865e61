"""Lives of sessions, from the queue to an end, led by real workers, people, and a process that dies."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from langgraph.types import Command

from planwright.extras.worker.worker import Worker
from planwright.graph.agent import Agent
from planwright.records.ownership.cancelling import cancel
from tests.extras.worker.conftest import AtWork, drained, eventually, until
from tests.extras.worker.door import Door
from tests.patience import PATIENCE_S
from tests.scenarios.conftest import Scene

RECORD = """CREATE TRIGGER passed AFTER UPDATE OF status ON runs WHEN OLD.status <> NEW.status
    BEGIN INSERT INTO passed_through VALUES (NEW.status); END"""
EXPIRE = "UPDATE sessions SET closes_s = 0"
SETTINGS: dict[str, Any] = {
    "queue": {"look_s": 0.01},
    "sessions": {"heartbeat_s": 0.001},
    "approval": {"plan": "never"},
}


@dataclass
class Stage:
    """What a life is played with."""

    scene: Scene
    door: Door
    at_work: AtWork

    async def queue(self, *capabilities: str, **settings: Any) -> Agent:
        """Queue a run of some steps, one after the other."""
        needs = [(f"s{n}",) if n else () for n in range(len(capabilities))]
        steps = [self.scene.step(f"s{n}", name, *needs[n - 1]) for n, name in enumerate(capabilities, 1)]
        own = [self.door.capability] if "door.pass" in capabilities else []
        plan = self.scene.plan(*steps)
        agent = self.scene.agent(plan, "done", capabilities=own, **{**SETTINGS, **settings})
        await self.run(agent, "CREATE TABLE passed_through (status TEXT)")
        await self.run(agent, RECORD)
        await agent.aenqueue("Do it", thread_id=self.scene.thread)
        return agent

    async def run(self, agent: Agent, query: str) -> None:
        """Change the records."""
        await agent.stores.database.run("test", lambda c: c.execute(query).rowcount)

    async def cancel(self, agent: Agent) -> None:
        """Cancel the session by its records, as a terminal does that opens no agent."""
        await cancel(agent.stores, self.scene.thread, "ann")

    async def in_the_door(self) -> None:
        """Wait until a worker is in the middle of a call."""
        await asyncio.wait_for(self.door.reached.wait(), PATIENCE_S)


async def done(stage: Stage) -> None:
    async with stage.at_work(await stage.queue("work.read")):
        await until(stage.scene, "completed")


async def at_gate(stage: Stage, **settings: Any) -> Agent:
    """Lead a session to its gate, where nobody works on it."""
    agent = await stage.queue("work.wipe", **settings)
    async with stage.at_work(agent):
        await until(stage.scene, "waiting")
    return agent


async def approved(stage: Stage) -> None:
    agent = await at_gate(stage)
    await agent.ainvoke(Command(resume="approve"), stage.scene.config)


async def rejected(stage: Stage) -> None:
    agent = await at_gate(stage)
    await agent.ainvoke(Command(resume="reject"), stage.scene.config)


async def cancelled_at_its_gate(stage: Stage) -> None:
    await stage.cancel(await at_gate(stage))


async def expire(stage: Stage, agent: Agent, change: str) -> None:
    """Let a time be up by changing a record, and a worker see it."""
    await stage.run(agent, change)
    async with stage.at_work(agent):
        await until(stage.scene, "expired")


async def expired_at_its_gate(stage: Stage) -> None:
    await expire(stage, await at_gate(stage), EXPIRE)


async def left_by_its_gate(stage: Stage) -> None:
    await expire(stage, await at_gate(stage), "UPDATE gates SET closes_s = 0")


async def paused_and_resumed(stage: Stage) -> None:
    agent = await stage.queue("door.pass", "work.read")
    async with stage.at_work(agent):
        await stage.in_the_door()
        await agent.apause(stage.scene.thread)
        await drained(agent)
        stage.door.open.set()
        await until(stage.scene, "paused")
        await eventually(lambda: stage.scene.rows("SELECT lease_until FROM runs") == [{"lease_until": 0}])
        await agent.stores.sessions.resume(stage.scene.thread, "ann")
        await until(stage.scene, "completed")


async def paused_in_the_queue(stage: Stage) -> Agent:
    """Pause a session that nobody has begun."""
    agent = await stage.queue("work.read")
    await agent.apause(stage.scene.thread)
    return agent


async def gone_on_with_by_a_person(stage: Stage) -> None:
    agent = await paused_in_the_queue(stage)
    await agent.ainvoke(None, stage.scene.config)


async def cancelled_while_paused(stage: Stage) -> None:
    await stage.cancel(await paused_in_the_queue(stage))


async def expired_while_paused(stage: Stage) -> None:
    await expire(stage, await paused_in_the_queue(stage), EXPIRE)


async def cancelled_in_the_queue(stage: Stage) -> None:
    await stage.cancel(await stage.queue("work.read"))


async def expired_in_the_queue(stage: Stage) -> None:
    agent = await stage.queue("work.read")
    await stage.run(agent, EXPIRE)
    async with stage.at_work(agent):
        await until(stage.scene, "expired")


async def cancelled_at_work(stage: Stage) -> None:
    agent = await stage.queue("door.pass", "work.read")
    async with stage.at_work(agent):
        await stage.in_the_door()
        cancelling = asyncio.create_task(stage.cancel(agent))
        await eventually(lambda: any(each.cancelled_by for each in agent.door.working.values()))
        stage.door.open.set()
        await until(stage.scene, "cancelled")
        await cancelling


async def expired_at_work(stage: Stage) -> None:
    agent = await stage.queue("door.pass", "work.read")
    async with stage.at_work(agent):
        await stage.in_the_door()
        await stage.run(agent, EXPIRE)
        await eventually(lambda: any(each.cancelled_by for each in agent.door.working.values()))
        stage.door.open.set()
        await until(stage.scene, "expired")


async def handed_over(stage: Stage) -> None:
    agent = await stage.queue("door.pass", "work.read")
    worker = Worker(agent)
    working = asyncio.create_task(worker.run())
    await stage.in_the_door()
    worker.stop()
    await drained(agent)
    stage.door.open.set()
    await asyncio.wait_for(working, PATIENCE_S)
    async with stage.at_work(agent):
        await until(stage.scene, "completed")


async def given_more(stage: Stage) -> None:
    agent = await stage.queue("door.pass")
    async with stage.at_work(agent):
        await stage.in_the_door()
        await agent.aextend(stage.scene.thread, {"tokens": 500})
        told = "SELECT 1 FROM journal WHERE type = ?"
        await eventually(lambda: bool(stage.scene.rows(told, "session_extended")))
        await eventually(lambda: bool(stage.scene.rows(told, "session_progress")))
        stage.door.open.set()
        await until(stage.scene, "completed")


async def failed_by_the_death_of_its_worker(stage: Stage) -> None:
    scene, settings = stage.scene, {**SETTINGS, "sessions": {"on_crash": "fail"}}
    agent = await stage.queue("work.read", **settings)
    replies = [scene.plan(scene.step("s1", "work.read"))]
    own = {"approval": {**SETTINGS["approval"], "tool_risk": "High"}}
    await stage.run(agent, "DROP TRIGGER passed")  # no other process opens a store with such a one
    scene.child(scene.entry(), replies=replies, settings=own, die_at="plan")
    await stage.run(agent, "INSERT INTO passed_through SELECT status FROM runs")
    await stage.run(agent, RECORD)
    async with stage.at_work(agent):
        await until(scene, "failed")
