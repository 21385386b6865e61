"""Runs that wait at a gate, for attempts to get past it: of a plan, a step, two steps, a call, an agent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from langgraph.errors import InvalidUpdateError
from langgraph.types import Command

from planwright.domain.errors import GateError, PlanwrightError, RunError
from planwright.domain.plan import Plan
from planwright.domain.verified_step import VerifiedStep
from planwright.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

ENDED = "the answer"
MOST_LINES, MOST_CHARACTERS = 6, 800
HOUR = {"gate_ttl_s": 3600}


class Clock:
    """A clock that a test sets forward."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 21, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@dataclass
class GatedRun:
    """A run that waits, what it may do once every gate is approved, and the ways to ask for it."""

    scene: Scene
    agent: Agent
    model: ScriptedModel
    allowed: list[str]
    clock: Clock = field(default_factory=Clock)

    @property
    def asked(self) -> dict[str, Any]:
        """What the first open gate asks."""
        value: dict[str, Any] = self.agent.get_state(self.scene.config).interrupts[0].value
        return value

    @property
    def interrupt(self) -> str:
        """The id of the first open interrupt."""
        return str(self.agent.get_state(self.scene.config).interrupts[0].id)

    @property
    def gate(self) -> str:
        """The id of the first open gate."""
        return str(self.asked["gate_id"])

    @property
    def plan_hash(self) -> str:
        """The hash of what the first open gate shows."""
        return str(self.asked["plan_hash"])

    @property
    def state(self) -> dict[str, Any]:
        """The values of the thread."""
        values: dict[str, Any] = self.agent.get_state(self.scene.config).values
        return values

    @property
    def open_gates(self) -> list[str]:
        """The gates that still wait, by the record."""
        query = "SELECT gate_id FROM gates WHERE status = 'open' AND thread_id = ? ORDER BY requested_at"
        found = self.scene.rows(query, self.scene.thread)
        return [row["gate_id"] for row in found]

    def edit(self, change: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        """Answer with the plan that is shown, changed."""
        plan = self.asked["shown"]
        change(plan)
        return {"type": "edit", "edited_action": {"name": "approve_plan", "args": {"plan": plan}}}

    def harmful(self, capability: str = "work.write") -> dict[str, Any]:
        """Make a plan and its verified step that nobody has seen, to be put in place of the real ones."""
        written = {"id": "s1", "capability": capability, "params": {"name": "harmful"}}
        plan = Plan.model_validate({"goal": "Do it", "steps": [{**written, "estimated_risk": "Medium"}]})
        real: VerifiedStep = self.state["checked"][0]
        return {"plan": plan, "checked": [real.model_copy(update={"step": plan.steps[0], "gated": False})]}

    def hinted(self, *tools: str) -> list[VerifiedStep]:
        """Give the agent of the first step other tools than the plan does."""
        (real,) = self.state["checked"]
        return [real.model_copy(update={"step": real.step.model_copy(update={"tool_hints": tools})})]

    def tamper(self, values: dict[str, Any] | None, as_node: str | None, **configurable: Any) -> None:
        """Write into the state as LangGraph lets anybody with the graph do it; it may refuse by itself."""
        config: Any = {"configurable": {**self.scene.config["configurable"], **configurable}}
        try:
            asyncio.run(self.agent.aupdate_state(config, values, as_node=as_node))
        except (InvalidUpdateError, KeyError, AttributeError, AssertionError):
            return

    def finish(self) -> None:
        """Approve, as it should be done, whatever still waits."""
        for _ in range(4):
            if not (gates := self.open_gates):
                return
            self.agent.invoke(Command(resume=dict.fromkeys(gates, "approve")), self.scene.config)


def plan_gate(scene: Scene, **options: Any) -> GatedRun:
    """Wait at the gate of a plan with one step."""
    steps = [scene.step("s1", "work.write", estimated_risk="Medium")]
    return _begin(scene, [scene.plan(*steps), ENDED], ["s1"], **options)


def planned_twice(scene: Scene, **options: Any) -> GatedRun:
    """The same, of a planner that proposes its plan again."""
    plan = scene.plan(scene.step("s1", "work.write", estimated_risk="Medium"))
    return _begin(scene, [plan, plan, ENDED], ["s1"], **options)


def step_gate(scene: Scene, **options: Any) -> GatedRun:
    """Wait at the gate of a destructive step whose plan was approved."""
    begun = _begin(scene, [scene.plan(scene.step("s1", "work.destroy")), ENDED], ["s1"], **options)
    scene.decide(begun.agent, "approve")
    return begun


def two_gates(scene: Scene, **options: Any) -> GatedRun:
    """Wait at the gates of two destructive steps at once."""
    plan = scene.plan(scene.step("a", "work.wipe"), scene.step("b", "work.wipe"))
    begun = _begin(scene, [plan, ENDED], ["a", "b"], **options)
    scene.decide(begun.agent, "approve")
    return begun


def call_gate(scene: Scene, **options: Any) -> GatedRun:
    """Wait at the gate of a call that a model makes for a simple request."""
    replies = [scene.calls(("work__wipe", {"name": "w"})), ENDED]
    return _begin(scene, replies, ["w"], planning={"mode": "auto"}, **options)


def agent_gate(scene: Scene, *tools: str, **options: Any) -> GatedRun:
    """Wait at the gate of a plan whose step an agent does; its model writes, whatever its tools are."""
    hints = list(tools or ("work.read", "work.write"))
    step = {"id": "look", "description": "Find out", "tool_hints": hints, "estimated_risk": "Medium"}
    replies = [scene.plan(step), scene.calls(("work__write", {"name": "w"})), "done", ENDED]
    return _begin(scene, replies, ["w"] if "work.write" in hints else [], **options)


def reading_agent_gate(scene: Scene, **options: Any) -> GatedRun:
    """The same, of an agent that may only read."""
    return agent_gate(scene, "work.read", **options)


def _begin(scene: Scene, replies: list[Any], allowed: list[str], **options: Any) -> GatedRun:
    clock, model = Clock(), ScriptedModel(replies=replies)
    agent = scene.agent(model=model, clock=clock, sessions=HOUR, **options)
    run = GatedRun(scene, agent, model, allowed, clock)
    scene.ask(agent, "Read, write, wipe or destroy")
    assert run.open_gates
    assert scene.done == []
    return run


def clearly_refused(error: PlanwrightError) -> None:
    """Demand that a refusal is one of an answer or a run, short, and says what to do."""
    assert isinstance(error, GateError | RunError), error
    assert error.next_step
    assert str(error).count("\n") < MOST_LINES
    assert len(str(error)) <= MOST_CHARACTERS
    assert all(character.isprintable() or character == "\n" for character in str(error))


def waiting_agent(scene: Scene, **options: Any) -> GatedRun:
    """Wait at the gate of a call inside an agent that may read and wipe, and whose model then writes."""
    step = {"id": "look", "description": "Find out", "tool_hints": ["work.read", "work.wipe"]}
    wipe, write = scene.calls(("work__wipe", {"name": "w"})), scene.calls(("work__write", {"name": "forged"}))
    begun = _begin(scene, [scene.plan(step), wipe, write, "done", ENDED], ["w"], **options)
    scene.decide(begun.agent, "approve")
    return begun
