"""A caller is cancelled, stops to read, or closes the agent while calls are under way: none stays behind."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.errors import RunHeld
from planwright.graph.agent import Agent
from tests.patience import PATIENCE_S
from tests.scenarios.conftest import Scene

UNGATED = {"approval": {"plan": "never"}}


class Post:
    """A receiver; what is sent to it is on its way until it is let through."""

    def __init__(self) -> None:
        self.under_way = 0
        self.through = asyncio.Event()
        self.arrived: list[str] = []

    def capability(self) -> Capability:
        """Declare the sending, a blind effect."""

        @capability("post.send", mode="local_write", effect="blind", trusted_result=True)
        async def send(name: str) -> str:
            """Send something."""
            self.under_way += 1
            await self.through.wait()
            self.arrived.append(name)
            return name

        return send

    async def is_under_way(self, calls: int) -> None:
        """Wait until so many calls are under way."""
        async with asyncio.timeout(PATIENCE_S):
            while self.under_way < calls:  # noqa: ASYNC110 - the calls begin by themselves
                await asyncio.sleep(0.01)


@pytest.fixture
async def post() -> Post:
    return Post()


def two_at_once(scene: Scene, post: Post) -> Agent:
    plan = scene.plan(scene.step("s1", "post.send"), scene.step("s2", "post.send"))
    return scene.agent(plan, "the answer", capabilities=[post.capability()], **UNGATED)


def request(text: str = "Do it") -> Any:
    return {"messages": [{"role": "user", "content": text}]}


@pytest.mark.parametrize("times", [1, 2, 5])
async def test_a_caller_that_is_cancelled_again_and_again_leaves_no_call_behind(
    scene: Scene, post: Post, times: int
) -> None:
    agent = two_at_once(scene, post)
    run = asyncio.create_task(agent.ainvoke(request(), scene.config))
    await post.is_under_way(2)
    for _ in range(times):  # as AnyIO does, in every tick
        run.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await run
    post.through.set()
    await asyncio.sleep(0.05)
    assert post.arrived == []
    output = await agent.ainvoke(None, scene.config)
    (gate,) = output["__interrupt__"]
    assert len(gate.value["shown"]["effects"]) == 2


@pytest.mark.parametrize("last", ["llm_call", "plan_step_complete", "plan_complete", "verdict"])
async def test_a_run_whose_reader_left_goes_on(scene: Scene, last: str) -> None:
    plan = scene.plan(scene.step("s1", "work.read"), scene.step("s2", "work.write", "s1"))
    again = [plan] if last == "llm_call" else []  # what the planner said was not on record
    agent = scene.agent(plan, *again, "the answer", "the answer", **UNGATED)
    async with contextlib.aclosing(agent.astream(request(), scene.config, stream_mode="custom")) as events:
        async for event in events:
            if event["type"] == last:
                break
    output = await agent.ainvoke(None, scene.config)
    assert (output["status"], scene.done) == ("completed", ["s1", "s2"])


async def test_who_closes_an_agent_does_not_give_its_calls_away(scene: Scene, post: Post) -> None:
    first, second = two_at_once(scene, post), two_at_once(scene, post)
    run = asyncio.create_task(first.ainvoke(request(), scene.config))
    await post.is_under_way(2)
    await first.aclose()
    with pytest.raises(RunHeld):
        await second.ainvoke(None, scene.config)
    post.through.set()
    assert (await run)["status"] == "completed"
    assert sorted(post.arrived) == ["s1", "s2"]
