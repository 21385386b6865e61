"""A spent limit, of any unit in any place, is a question or an end, and the run goes on with more of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import TYPE_CHECKING, Any, cast

import pytest
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.cli.session.asking import choices, read_typed
from planwright.domain.errors import GateError, RunError
from planwright.extras.worker.worker import Worker
from planwright.models.scripted import ScriptedModel
from planwright.settings.settings import load

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from planwright.records.extensions import Unit
    from tests.scenarios.conftest import Scene

ALL = [f"w{n}" for n in range(5)]
PLACES = ("loop", "plan", "agentic step", "sub-agent", "chain", "background")
LIMITS: dict[str, float] = {
    "model_calls": 3,
    "tokens": 30_000,
    "tool_calls": 2,
    "effects": 2,
    "effects_per_minute": 2,
    "cost": 0.08,
    "wall_clock_s": 25,
}
OF_PLACE: dict[tuple[str, str], float] = {
    ("model_calls", "plan"): 1,
    ("model_calls", "chain"): 2,
    ("tokens", "plan"): 9000 + 4096 + 450,
    ("tokens", "chain"): 24_000,
    ("cost", "plan"): 0.0535,
    ("cost", "chain"): 0.07,
}
"""Limits that are met where a plan or a chain is carried out, and neither before nor behind it."""
CELLS = list(product(LIMITS, PLACES))
ATTENDED = [cell for cell in CELLS if cell[1] != "background"]  # in the background there is nobody to ask
MORE: dict[str, float] = {**dict.fromkeys(LIMITS, 50), "tokens": 200_000, "cost": 5, "wall_clock_s": 1000}


@dataclass
class Clock:
    """A clock that only moves when it is told to."""

    now: datetime = field(default_factory=lambda: datetime(2026, 11, 21, 12, tzinfo=UTC))

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class CostlyModel(ScriptedModel):
    """A scripted model whose replies cost tokens and time; it has one plan, however often it is asked."""

    tokens: int = 20
    plan: str = ""
    planned: list[Any] = Field(default_factory=list)
    takes: Callable[[], None] = lambda: None

    def _reply(self, messages: Any) -> str | dict[str, Any]:
        if self.plan and messages[0].text.startswith("Role: planner"):
            self.planned.append(messages)
            return self.plan
        return super()._reply(messages)

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        self.takes()
        message = super()._generate(*args, **kwargs).generations[0].message
        usage = {"input_tokens": self.tokens, "output_tokens": 0, "total_tokens": self.tokens}
        assert isinstance(message, AIMessage)
        return ChatResult(
            generations=[ChatGeneration(message=message.model_copy(update={"usage_metadata": usage}))]
        )


@dataclass
class Stage:
    """Five writes in one place, under one limit that does not cover them."""

    scene: Scene
    agent: Agent
    model: CostlyModel
    request: str

    @property
    def prompts(self) -> int:
        """How often the model was asked."""
        return len(self.model.prompts) + len(self.model.planned)

    def begin(self, **context: Any) -> dict[str, Any]:
        """Ask for the writes, with options of the run."""
        entry = {"messages": [("user", self.request)]}
        output: dict[str, Any] = self.agent.invoke(entry, self.scene.config, context=context or None)
        return output

    def work(self, *, queues: bool = False) -> dict[str, Any]:
        """Queue the request, let a worker take up what is queued, and read how it stands."""

        async def job() -> None:
            if queues:
                await self.agent.aenqueue(self.request, thread_id=self.scene.thread)
            await asyncio.wait_for(Worker(self.agent).run(until_idle=True), 60)

        asyncio.run(job())
        (run,) = self.scene.rows("SELECT status, coalesce(answer, paused_why) AS answer FROM runs")
        return run


def slow_write(clock: Clock) -> Capability:
    """Make a capability that writes in ten seconds of a clock."""

    @capability("slow.write", trusted_result=True, mode="local_write", effect="idempotent", tags=("write",))
    def write(name: str, call: CallContext) -> str:
        """Write something down in ten seconds."""
        with (call.settings.workspace / "done.log").open("a", encoding="utf-8") as log:
            log.write(f"{name}\n")
        clock.pass_(10)
        return name

    return write


def replies(scene: Scene, place: str, tool: str) -> Iterator[str | dict[str, Any]]:
    """Yield what a model says that writes five in a place; the plan, where there is one, comes first."""
    writes = [scene.calls(("work__write", {"name": name})) for name in ALL]
    if place == "plan":
        steps = [scene.step(name, tool, *ALL[:n][-1:]) for n, name in enumerate(ALL)]
        yield scene.plan(*steps)
    elif place == "agentic step":
        yield scene.plan(
            {"id": "s1", "description": "Write five", "tool_hints": ["work.write"], "params": {}}
        )
        yield from writes
        yield "All are written."
    elif place == "chain":
        parts = [{"toolName": tool, "arguments": {"name": name}} for name in ALL]
        chain = {"name": "five", "description": "Write five in a row", "steps": parts}
        yield scene.calls(("tool__create_chain", chain))
        yield scene.calls(("five", {}))
    else:
        if place == "sub-agent":
            yield scene.calls(("agent__delegate", {"task": "Write five", "tools": ["work.write"]}))
        yield from writes
        if place == "sub-agent":
            yield "All are written."
    yield "All are written."


def staged(scene: Scene, unit: str, place: str) -> Stage:
    """Put up an agent whose limit of a unit is met in a place."""
    clock, planned = Clock(), place in ("plan", "agentic step")
    in_calls = unit == "wall_clock_s" and place in ("plan", "chain")  # else it is the models that take time
    said = list(replies(scene, place, "slow.write" if in_calls else "work.write"))
    model = CostlyModel(
        plan=said.pop(0) if planned else "",
        replies=said,
        model_name="gpt-4o",
        tokens={"tokens": 9000, "cost": 4500 if place == "plan" else 4000}.get(unit, 20),
    )
    limits: dict[str, Any] = dict.fromkeys(LIMITS, "unlimited")
    limits[unit] = OF_PLACE.get((unit, place), LIMITS[unit])
    more: dict[str, Any] = {"clock": clock} if unit == "wall_clock_s" else {}
    if in_calls:
        more["capabilities"] = [slow_write(clock)]
    elif unit == "wall_clock_s":
        model.takes = lambda: clock.pass_(10)
    with (scene.workspace / "planwright.toml").open("a", encoding="utf-8") as file:
        file.write("[tools]\ntop_k = 40\n")
    agent = scene.agent(
        model=model,
        budgets={"run": limits},
        planning={"mode": "always" if planned else "never"},
        approval={"plan": "never", "tool_risk": "Critical"},
        **more,
    )
    request = "Do it, " + "please, " * 200 if planned else "Delegate to agents and chain tools: read, write"
    return Stage(scene, agent, model, request)


@pytest.mark.parametrize(("unit", "place"), CELLS)
def test_a_run_that_nobody_watches_is_put_down_at_a_limit_and_goes_on_with_more(
    scene: Scene, unit: str, place: str
) -> None:
    stage = staged(scene, unit, place)
    background = place == "background"
    out = stage.work(queues=True) if background else stage.begin()
    prompts, done = stage.prompts, list(scene.done)
    assert (out["status"], f"budgets.run.{unit}" in out["answer"]) == ("budget_exceeded", True)
    assert done == ALL[: len(done)]
    again = stage.work() if background else scene.recover(stage.agent)
    assert (again["status"], stage.prompts, scene.done) == ("budget_exceeded", prompts, done)
    stage.agent.extend(scene.thread, {cast("Unit", unit): MORE[unit]})
    if background:
        stage.agent.loop.call(lambda: stage.agent.stores.sessions.resume(scene.thread, "ann"))
    out = stage.work() if background else scene.recover(stage.agent)
    assert (out["status"], out["answer"], scene.done) == ("completed", "All are written.", ALL)
    written = "SELECT args FROM effects WHERE status = 'done' AND capability LIKE '%.write'"
    assert len(scene.rows(written)) == 5


@pytest.mark.parametrize(("unit", "place"), ATTENDED)
def test_who_waits_for_a_run_is_asked_for_more_and_it_goes_on_with_a_yes(
    scene: Scene, unit: str, place: str
) -> None:
    stage = staged(scene, unit, place)
    out, asked = stage.begin(gate_ttl_s=600), 0
    while out["status"] == "interrupted" and asked < 20:
        asked += 1
        (gate,) = out["__interrupt__"]
        assert gate.value["kind"] == "limit"
        assert gate.value["shown"]["limit"]["setting"] == f"budgets.run.{unit}"
        out = scene.decide(stage.agent, "approve")
    assert (out["status"], out["answer"], scene.done) == ("completed", "All are written.", ALL)
    assert asked > 0
    assert len(scene.rows("SELECT unit FROM extensions")) == asked


def gated(scene: Scene, **more: Any) -> Stage:
    """Put up a loop that stands at the gate of its third call."""
    stage = staged(scene, "tool_calls", "loop")
    (gate,) = stage.begin(gate_ttl_s=600, **more)["__interrupt__"]
    assert gate.value["description"].startswith(
        "Approve extend_budget: the limit of 2 calls is reached; 2 more?"
    )
    return stage


@pytest.mark.parametrize("amount", [3, "3", 50.0])
def test_an_edit_gives_another_amount_than_was_asked_for(scene: Scene, amount: object) -> None:
    stage = gated(scene)
    action = {"name": "extend_budget", "args": {"unit": "tool_calls", "amount": amount}}
    out = scene.answer(stage.agent, {"decisions": [{"type": "edit", "edited_action": action}]})
    assert (out["status"], scene.done) == ("completed", ALL)
    assert scene.rows("SELECT unit, amount FROM extensions") == [
        {"unit": "tool_calls", "amount": float(str(amount))}
    ]


@pytest.mark.parametrize(
    "args", [{"amount": 0}, {"amount": 1.5}, {"amount": "much"}, {}, {"unit": "cost", "amount": 3}], ids=str
)
def test_an_edit_that_gives_nothing_or_something_else_decides_nothing(
    scene: Scene, args: dict[str, object]
) -> None:
    stage = gated(scene)
    edit = {"type": "edit", "edited_action": {"name": "extend_budget", "args": args}}
    with pytest.raises(GateError):
        scene.answer(stage.agent, {"decisions": [edit]})
    assert scene.rows("SELECT status FROM gates") == [{"status": "open"}]
    assert scene.rows("SELECT * FROM extensions") == []


def test_a_plan_is_no_answer_where_a_limit_is_asked_about(scene: Scene) -> None:
    stage = gated(scene)
    action = {"name": "approve_plan", "args": {"plan": {"steps": []}}}
    with pytest.raises(GateError, match="something else than was edited"):
        scene.answer(stage.agent, {"decisions": [{"type": "edit", "edited_action": action}]})


def test_a_no_is_the_end_and_nobody_is_asked_again(scene: Scene) -> None:
    stage = gated(scene)
    prompts = stage.prompts
    out = scene.decide(stage.agent, "reject")
    assert (out["status"], scene.done, stage.prompts) == ("budget_exceeded", ALL[:2], prompts + 1)
    assert scene.rows("SELECT kind FROM gates") == [{"kind": "limit"}]
    with pytest.raises(RunError, match="has ended"):
        stage.agent.extend(scene.thread, {"tool_calls": 9})


def test_a_limit_nobody_answers_about_in_time_puts_the_run_down(scene: Scene) -> None:
    clock = Clock(datetime.now(UTC))
    writes = [scene.calls(("work__write", {"name": name})) for name in ALL]
    agent = scene.agent(
        *writes,
        "All are written.",
        clock=clock,
        planning={"mode": "never"},
        budgets={"run": {"tool_calls": 2}},
    )
    entry = {"messages": [("user", "Write five")]}
    agent.invoke(entry, scene.config, context={"gate_ttl_s": 60})
    clock.pass_(3600)
    assert scene.recover(agent)["status"] == "budget_exceeded"
    agent.extend(scene.thread, {"tool_calls": 9})
    assert (scene.recover(agent)["status"], scene.done) == ("completed", ALL)


def test_a_new_message_ends_a_run_that_a_limit_has_put_down(scene: Scene) -> None:
    stage = staged(scene, "tool_calls", "loop")
    assert stage.begin()["status"] == "budget_exceeded"
    stage.model.replies = ["Good morning."]
    out = scene.ask(stage.agent, "Good morning")
    assert (out["status"], out["answer"]) == ("completed", "Good morning.")
    first, second = scene.rows("SELECT status, answer, ended_at IS NULL AS open FROM runs ORDER BY rowid")
    assert (first["status"], first["open"], second["status"]) == ("budget_exceeded", 0, "completed")
    assert '- work.write "w1": done' in first["answer"]


def test_calls_side_by_side_that_meet_one_limit_ask_once(scene: Scene) -> None:
    reads = scene.calls(*(("work__read", {"name": name}) for name in ALL))
    settings = {"planning": {"mode": "never"}, "budgets": {"run": {"tool_calls": 2}}}
    agent = scene.agent(reads, "All are read.", **settings)
    out = agent.invoke(
        {"messages": [("user", "Read five")]}, scene.config, context={"gate_ttl_s": 60, "channel": "x"}
    )
    (gate,) = out["__interrupt__"]
    args = {**gate.value["shown"]["args"], "amount": 9}
    action = {"name": "extend_budget", "args": args}
    out = scene.answer(agent, {"decisions": [{"type": "edit", "edited_action": action}]})
    assert (out["status"], sorted(scene.done)) == ("completed", ALL)


def test_what_is_typed_at_a_terminal_is_a_yes_an_amount_or_a_no(scene: Scene) -> None:
    stage = gated(scene)
    (gate,) = stage.agent.get_state(scene.config).interrupts
    assert read_typed("y", gate.value) == {"type": "approve"}
    typed = read_typed("50", gate.value)
    assert typed is not None
    assert typed["type"] == "edit"
    assert read_typed("n", gate.value) == {"type": "reject", "message": ""}
    assert read_typed("perhaps", gate.value) is None
    assert "type how much" in choices(gate.value)
    assert (scene.answer(stage.agent, typed)["status"], scene.done) == ("completed", ALL)


def test_a_loop_of_seventy_reads_under_fifty_calls_reads_no_more_and_asks_no_model(scene: Scene) -> None:
    reads = [scene.calls(("work__read", {"name": f"r{n}"})) for n in range(70)]
    model = ScriptedModel(replies=[*reads, "All seventy are read."])
    settings = {"planning": {"mode": "never"}, "budgets": {"run": {"tool_calls": 50}}}
    out = scene.ask(scene.agent(model=model, **settings), "Read seventy")
    assert (out["status"], len(scene.done), len(model.prompts)) == ("budget_exceeded", 50, 51)


def test_limits_of_calls_are_no_lower_than_the_turns_of_a_loop(scene: Scene) -> None:
    settings = load(scene.workspace)
    run, turns = settings.budgets.run, settings.execution.max_tool_iterations
    assert min(run.tool_calls or turns, run.model_calls or turns) >= turns
