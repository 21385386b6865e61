"""A NUL or half a character, at each way into the agent: refused with what to do, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from langgraph.types import Command

from planwright.domain.errors import SetupError
from planwright.extras.worker.schedules import Schedules
from planwright.graph.agent import Agent
from planwright.upkeep.store_check import check_store
from tests.extras.worker.test_schedules import HOURLY, Clock, runs
from tests.opened_store import store_url
from tests.scenarios.conftest import Scene

pytestmark = pytest.mark.long

NUL, HALF = "a\0b", "a\ud83eb"
CAUSES = {NUL: "holds a NUL character", HALF: r"holds half a character"}
REQUEST = {"messages": [("user", "Do it")]}
Enter = Callable[[Agent, str, str], Any]


def on(thread: str) -> Any:
    """Make the config of a thread."""
    return {"configurable": {"thread_id": thread}}


# Ways in that make a run: each is tried with a bad request or a bad name.
REQUESTS: dict[str, Enter] = {
    "invoke": lambda agent, text, _: agent.invoke({"messages": [("user", text)]}, on("t")),
    "an earlier message": lambda agent, text, _: agent.invoke(
        {"messages": [("user", text), ("assistant", "yes"), ("user", "Do it")]}, on("t")
    ),
    "stream": lambda agent, text, _: list(agent.stream({"messages": [("user", text)]}, on("t"))),
    "enqueue": lambda agent, text, _: agent.enqueue(text, thread_id="t"),
}
THREADS: dict[str, Enter] = {
    "invoke": lambda agent, text, _: agent.invoke(REQUEST, on(text)),
    "stream": lambda agent, text, _: list(agent.stream(REQUEST, on(text))),
    "enqueue": lambda agent, text, _: agent.enqueue("Do it", thread_id=text),
    "call": lambda agent, text, _: agent.call("work.read", {"name": "x"}, thread_id=text),
    "fork": lambda agent, text, run: agent.fork(run, rerun=["s1"], thread_id=text),
    "undo": lambda agent, text, run: agent.undo(run, thread_id=text),
    "tenant": lambda agent, text, _: agent.invoke(REQUEST, on("t"), context={"tenant": text}),
}
# Ways in that look for a run: a NUL is a name that nobody has, half a character is none.
LOOKS: dict[str, Enter] = {
    "get_state": lambda agent, text, _: agent.get_state(on(text)),
    "going on": lambda agent, text, _: agent.invoke(None, on(text)),
    "an answer": lambda agent, text, _: agent.invoke(Command(resume="approve"), on(text)),
    "cancel": lambda agent, text, _: agent.cancel(text),
    "pause": lambda agent, text, _: agent.pause(text),
    "extend": lambda agent, text, _: agent.extend(text, {"tokens": 1}),
    "take over": lambda agent, text, _: agent.take_over(text),
    "migrate": lambda agent, text, _: agent.migrate(text),
    "checkpoints": lambda agent, text, _: agent.checkpoints(text),
    "fork of": lambda agent, text, _: agent.fork(text),
    "undo of": lambda agent, text, _: agent.undo(text),
    "decide": lambda agent, text, _: agent.decide_effects(text, []),
}


@pytest.fixture
def agent(scene: Scene) -> Agent:
    """An agent of which one run has completed."""
    return scene.agent(scene.plan(scene.step("s1", "work.book")), "done", approval={"plan_risk": "Critical"})


def refused(scene: Scene, agent: Agent, enter: Enter, text: str) -> None:
    """Try to enter, and see that it is refused and leaves nothing behind."""
    scene.ask(agent)
    run, before = scene.rows("SELECT run_id FROM runs")[0]["run_id"], scene.everything()
    with pytest.raises(SetupError, match=CAUSES[text]) as error:
        enter(agent, text, run)
    assert error.value.next_step
    agent.close()
    assert scene.everything() == before
    assert store_url() or check_store(scene.workspace / ".planwright") == []


@pytest.mark.parametrize("text", CAUSES, ids=CAUSES.values())
@pytest.mark.parametrize("enter", REQUESTS.values(), ids=REQUESTS)
def test_a_request_is_refused(scene: Scene, agent: Agent, enter: Enter, text: str) -> None:
    refused(scene, agent, enter, text)


@pytest.mark.parametrize("text", CAUSES, ids=CAUSES.values())
@pytest.mark.parametrize("enter", THREADS.values(), ids=THREADS)
def test_a_name_is_refused(scene: Scene, agent: Agent, enter: Enter, text: str) -> None:
    refused(scene, agent, enter, text)


@pytest.mark.parametrize("enter", LOOKS.values(), ids=LOOKS)
def test_half_a_character_names_nothing(scene: Scene, agent: Agent, enter: Enter) -> None:
    refused(scene, agent, enter, HALF)


async def test_a_bad_request_cancels_no_run_before_it(scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.wipe")), threads={"new_input": "cancel"})
    await agent.ainvoke(REQUEST, scene.config)
    with pytest.raises(SetupError, match="NUL"):
        await agent.ainvoke({"messages": [("user", NUL)]}, scene.config)
    assert [row["status"] for row in scene.rows("SELECT status FROM runs")] == ["waiting"]


async def test_a_schedule_with_a_bad_request_is_left_out(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    settings = {"schedules": {"hourly": {**HOURLY["schedules"]["hourly"], "request": NUL}}}
    schedules = Schedules(scene.agent("done", clock=clock, **settings))
    clock.now += timedelta(hours=1)
    await schedules.queue_due()
    assert runs(scene) == []
    assert "is left out: the request holds a NUL character" in caplog.text


@pytest.mark.sqlite
@pytest.mark.parametrize("capability", ["work.fail", "work.write"], ids=["an error", "an answer"])
def test_a_nul_that_a_tool_or_a_model_brings_is_no_damage(scene: Scene, capability: str) -> None:
    step = scene.step("s1", capability, params={"name": NUL})
    agent = scene.agent(
        scene.plan(step), NUL, approval={"plan_risk": "Critical"}, planning={"replan_budget": 0}
    )
    scene.ask(agent)
    agent.close()
    findings = check_store(scene.workspace / ".planwright")
    assert [finding for finding in findings if not finding.note] == []
    assert any("holds a NUL character" in finding.problem for finding in findings)
