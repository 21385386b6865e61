"""What LangGraph's documentation says of a compiled graph, tried on an agent: a module a page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest

from planwright.models.scripted import ScriptedModel
from tests.scenarios.conftest import Scene
from tests.scenarios.conftest import scene as scene
from tests.scenarios.conftest import stage as stage

Test = TypeVar("Test", bound=Callable[..., object])
APPROVE = {"decisions": [{"type": "approve"}]}
MESSAGE = {"messages": [{"role": "user", "content": "Wipe it"}]}


def differs(instead: str) -> Callable[[Test], Test]:
    """Note on a test what happens instead of what its page says, and why."""

    def mark(test: Test) -> Test:
        test.instead = instead  # type: ignore[attr-defined]
        return test

    return mark


def restates(*sources: str) -> Callable[[Test], Test]:
    """Note on a test which public tests or examples of LangChain it plays (`langchain_hitl.json`)."""

    def mark(test: Test) -> Test:
        test.restates = sources  # type: ignore[attr-defined]
        return test

    return mark


@dataclass(frozen=True)
class Play:
    """An agent and the scene that it plays in."""

    agent: Any
    """The agent, whose model has a plan of one step and an answer for each request."""
    scene: Scene
    """Its workspace and thread."""
    model: ScriptedModel | None = None
    """Its model, where a test reads what that was told."""

    @property
    def config(self) -> Any:
        """The config of the thread."""
        return self.scene.config

    def ask(self, **options: Any) -> Any:
        """Send the request."""
        return self.agent.invoke(MESSAGE, self.config, **options)

    def history(self) -> list[Any]:
        """List the states of the thread, the newest first."""
        return list(self.agent.get_state_history(self.config))


@pytest.fixture
def reading(scene: Scene) -> Play:
    """An agent whose plan needs nobody: it reads."""
    plan = scene.plan(scene.step("s1", "work.read"))
    return Play(scene.agent(plan, "the answer", '{"task": "again"}', plan, "another answer"), scene)


@pytest.fixture
def writing(scene: Scene) -> Play:
    """An agent whose plan waits for a person: it writes."""
    plan = scene.plan(scene.step("s1", "work.write", estimated_risk="Medium"))
    return Play(scene.agent(plan, "the answer", '{"task": "again"}', plan, "another answer"), scene)


@pytest.fixture
def waiting(writing: Play) -> Play:
    """The same, at its gate."""
    writing.ask()
    return writing


@pytest.fixture
def ended(reading: Play) -> Play:
    """An agent whose run has ended."""
    reading.ask()
    return reading


@pytest.fixture
def calling(scene: Scene) -> Play:
    """An agent in a loop that calls two tools, which wait for a person together."""
    calls = scene.calls(("work__wipe", {"name": "a"}), ("work__wipe", {"name": "b"}))
    model = ScriptedModel(replies=[calls, "the answer"])
    return Play(scene.agent(model=model, planning={"mode": "auto"}), scene, model)


@pytest.fixture
def two_calls(scene: Scene) -> Play:
    """An agent that waits at one gate for two calls of a reply."""
    calls = scene.calls(("work__write", {"name": "a"}), ("work__write", {"name": "b"}))
    agent = scene.agent(calls, "the answer", planning={"mode": "auto"}, approval={"tool_risk": "Low"})
    return Play(agent, scene)


def request(play: Play) -> Any:
    """Read what the first gate asks."""
    return play.ask()["__interrupt__"][0].value


def answer(play: Play, *decisions: Any) -> Any:
    """Answer with decisions."""
    return play.scene.answer(play.agent, {"decisions": list(decisions)})
