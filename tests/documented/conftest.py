"""What LangGraph's documentation says of a compiled graph, tried on an agent: a module a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest
from langchain_core.messages import BaseMessage
from pydantic import Field

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
    calls: tuple[str, ...] = ("s1",)
    """What the calls of the request do, in order."""
    earlier: int = 0
    """How many messages the thread holds from turns before; each has called as often as this one."""

    @property
    def config(self) -> Any:
        """The config of the thread."""
        return self.scene.config

    @property
    def done(self) -> list[str]:
        """What the request has done; turns before had as many calls."""
        return self.scene.done[len(self.calls) if self.earlier else 0 :]

    @property
    def stumbles(self) -> int:
        """How many requests to the model are yet to fail."""
        return len(getattr(self.model, "away", ()))

    @property
    def node(self) -> str:
        """The node that speaks the answer."""
        return "agentic_loop" if self.model else "respond"

    @property
    def types(self) -> list[str]:
        """The messages that the request leaves in the conversation."""
        return ["human", *["ai", "tool"] * len(self.calls), "ai"]

    def ask(self, **options: Any) -> Any:
        """Send the request."""
        return self.agent.invoke(MESSAGE, self.config, **options)

    def history(self) -> list[Any]:
        """List the states of the thread, the newest first."""
        return list(self.agent.get_state_history(self.config))


class StumblingModel(ScriptedModel):
    """A scripted model whose provider cannot be reached, at some of its requests."""

    away: list[int] = Field(default_factory=list)
    """Numbers of the requests that fail, from 1; each entry fails once."""
    error: Exception = ConnectionRefusedError("connection refused")
    """What a request that fails raises."""

    def _reply(self, messages: list[BaseMessage]) -> str | dict[str, Any]:
        if (number := len(self.prompts) + 1) in self.away:
            self.away.remove(number)
            raise self.error
        return super()._reply(messages)


def loop_of(scene: Scene, *names: str, away: Sequence[int] = (), turns: int = 1, **more: Any) -> Play:
    """Build an agent in a loop that makes a call a turn of its model, and has had all turns but the last."""
    calls = [
        {"content": "", "tool_calls": [{"name": "work__read", "args": {"name": name}, "id": f"c{number}"}]}
        for number, name in enumerate(names)
    ]
    model = StumblingModel(replies=[*calls, "the answer"] * turns, away=list(away), **more)
    agent: Any = scene.agent(model=model, planning={"mode": "never"})
    for _ in range(turns - 1):
        agent.invoke(MESSAGE, scene.config)
    return Play(agent, scene, model, names, (turns - 1) * (2 * len(names) + 2))


def plan_of(scene: Scene, away: Sequence[int] = (), **more: Any) -> Play:
    """Build an agent that plans one step, which reads, and answers then."""
    replies: list[str | dict[str, Any]] = [scene.plan(scene.step("s1", "work.read")), "the answer"]
    model = StumblingModel(replies=replies, away=list(away), **more)
    return Play(scene.agent(model=model), scene, model)


@pytest.fixture(params=["a plan", "one call", "three calls", "two turns", "an error of the provider"])
def typical(request: pytest.FixtureRequest, scene: Scene) -> Play:
    """An agent before its request, in each of the cases that are typical."""
    match request.param:
        case "a plan":
            return Play(scene.agent(scene.plan(scene.step("s1", "work.read")), "the answer"), scene)
        case "one call":
            return loop_of(scene, "r1")
        case "three calls":
            return loop_of(scene, "r1", "r2", "r3")
        case "two turns":
            return loop_of(scene, "r1", turns=2)
        case _:
            return loop_of(scene, "r1", "r2", "r3", away=[3])


@pytest.fixture
def played(typical: Play) -> Play:
    """The same behind it."""
    typical.ask()
    return typical


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
