"""The wall clock of a run: it stops for a person, is checked before calls, and ends a run with its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.outputs import ChatResult

from planwright.models.scripted import ScriptedModel

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

LIMIT = {"budgets": {"run": {"wall_clock_s": 60}}}
AUTO = {"planning": {"mode": "auto"}}


@dataclass
class Clock:
    """A clock that only moves when it is told to."""

    now: datetime = field(default_factory=lambda: datetime(2026, 11, 21, 12, tzinfo=UTC))

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class SlowModel(ScriptedModel):
    """A scripted model whose replies take time."""

    takes: Callable[[], None]

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        self.takes()
        return super()._generate(*args, **kwargs)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def slow(clock: Clock, seconds: float, *replies: Any) -> SlowModel:
    return SlowModel(replies=list(replies), takes=lambda: clock.pass_(seconds))


def test_no_time_at_all_means_no_call(scene: Scene, clock: Clock) -> None:
    model = slow(clock, 1, "never asked")
    agent = scene.agent(model=model, clock=clock, budgets={"run": {"wall_clock_s": 0}})
    output = scene.ask(agent)
    assert (output["status"], model.prompts) == ("budget_exceeded", [])
    assert output["answer"].splitlines() == [
        "the run has taken 0.0 s, and budgets.run.wall_clock_s allows 0 s",
        'give it more, and go on with it: extend(thread_id, {"wall_clock_s":1}), invoke(None, config)',
    ]


def test_a_plan_that_took_too_long_is_not_begun(scene: Scene, clock: Clock) -> None:
    model = slow(clock, 61, scene.plan(scene.step("s1", "work.read"), scene.step("s2", "work.read", "s1")))
    output = scene.ask(scene.agent(model=model, clock=clock, **LIMIT))
    assert (output["status"], scene.done, len(model.prompts)) == ("budget_exceeded", [], 1)
    assert output["answer"].startswith("the run has taken 61.0 s, and budgets.run.wall_clock_s allows 60 s")


def test_a_step_that_has_no_time_left_has_not_failed(scene: Scene, clock: Clock) -> None:
    model = slow(clock, 61, scene.plan(scene.step("s1", "work.read")))
    agent = scene.agent(model=model, clock=clock, **LIMIT)
    scene.ask(agent)
    assert [event for event in scene.journal() if event["type"] == "plan_step_failed"] == []
    (run,) = scene.rows("SELECT status, paused_for, ended_at FROM runs")
    assert run == {"status": "budget_exceeded", "paused_for": "budgets.run.wall_clock_s", "ended_at": None}


def test_a_destructive_step_without_time_is_not_asked_about_again(scene: Scene, clock: Clock) -> None:
    model = slow(clock, 61, scene.plan(scene.step("s1", "work.wipe")))
    agent = scene.agent(model=model, clock=clock, **LIMIT)
    scene.ask(agent)
    output = scene.decide(agent, "approve")
    while "__interrupt__" in output:
        output = scene.decide(agent, "approve")
    assert (output["status"], scene.done) == ("budget_exceeded", [])
    kinds = [row["kind"] for row in scene.rows("SELECT kind FROM gates")]
    assert "escalation" not in kinds


def test_waiting_for_a_person_does_not_count(scene: Scene, clock: Clock) -> None:
    model = slow(clock, 20, scene.plan(scene.step("s1", "work.write", estimated_risk="Medium")), "done")
    agent = scene.agent(model=model, clock=clock, **LIMIT)
    scene.ask(agent)
    clock.pass_(7200)
    output = scene.decide(agent, "approve")
    assert (output["status"], output["answer"], scene.done) == ("completed", "done", ["s1"])
    (end,) = [event["data"] for event in scene.journal() if event["type"] == "run_end"]
    assert end["used"]["seconds"] == 40


def test_time_before_a_gate_counts_in_another_process(scene: Scene, clock: Clock) -> None:
    plan = scene.plan(scene.step("s1", "work.write", estimated_risk="Medium"))
    first = scene.agent(model=slow(clock, 61, plan), clock=clock, **LIMIT)
    scene.ask(first)
    first.close()
    clock.pass_(7200)
    output = scene.decide(scene.agent(model=slow(clock, 0, "done"), clock=clock, **LIMIT), "approve")
    assert (output["status"], scene.done) == ("budget_exceeded", [])


def test_a_loop_ends_between_two_turns(scene: Scene, clock: Clock) -> None:
    call = scene.calls(("work__read", {"name": "a"}))
    model = slow(clock, 40, call, call, "never said")
    output = scene.ask(scene.agent(model=model, clock=clock, **LIMIT, **AUTO), "Read a")
    assert (output["status"], len(model.prompts)) == ("budget_exceeded", 2)
    assert "budgets.run.wall_clock_s" in output["answer"]


def test_results_are_told_when_there_is_no_time_for_the_answer(scene: Scene, clock: Clock) -> None:
    agentic = {
        "id": "s1",
        "description": "Name one",
        "tool_hints": ["work.read"],
        "estimated_risk": "None",
    }
    model = slow(clock, 30, scene.plan(agentic, scene.step("s2", "work.read")), "it is blue", "never said")
    output = scene.ask(scene.agent(model=model, clock=clock, **LIMIT))
    assert (output["status"], len(model.prompts)) == ("budget_exceeded", 2)
    assert output["answer"].startswith("the run has taken 60.0 s")
    assert "it is blue" in output["answer"]


def test_an_agent_has_a_clock_of_its_own(scene: Scene, clock: Clock) -> None:
    agents = {"agents": {"hasty": {"limits": {"wall_clock_s": 0}}}}
    agent = scene.agent(model=slow(clock, 1, "never asked"), clock=clock, **agents)
    output = agent.invoke({"messages": [("user", "Do it")]}, scene.config, context={"agent": "hasty"})
    assert output["status"] == "budget_exceeded"
    assert "agents.hasty.limits.wall_clock_s allows 0 s" in output["answer"]


def test_there_is_one_warning_when_80_percent_of_the_time_is_gone(scene: Scene, clock: Clock) -> None:
    replies = [scene.calls(("work__read", {"name": name})) for name in "abc"]
    model = slow(clock, 16, *replies, "done")
    settings = {"budgets": {"run": {"wall_clock_s": 70}}, **AUTO}
    assert scene.ask(scene.agent(model=model, clock=clock, **settings), "Read a")["status"] == "completed"
    told = [e["data"] for e in scene.journal() if e["type"] == "budget_update" and "limit" in e["data"]]
    assert [(entry["limit"], entry["used"], entry["percent"]) for entry in told] == [
        ("budgets.run.wall_clock_s", 64, 91)
    ]
