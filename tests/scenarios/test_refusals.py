"""What the door refuses leaves the run as it was, and the gate can still be answered."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.types import Command

from planwright.domain.errors import GateError, PlanwrightError, RunError

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

APPROVE = {"decisions": [{"type": "approve"}]}
WRONG = "gate_0000000000000000"
NO_DECISIONS = [
    {},
    {"foo": 1},
    {"decisions": []},
    {"decisions": [{"type": "approve"}, {"type": "approve"}]},
    {"decisions": [{"type": "edit", "edited_action": {}}]},
    {"decisions": [{"approve": True}]},
    {"decisions": "approve"},
    {"type": "maybe"},
    {"type": None},
    "perhaps",
    "",
    1,
    [],
    ["approve", "approve"],
]


class Clock:
    """A clock that a test sets forward."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 21, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def gated(scene: Scene) -> str:
    """Write a plan with one gate of its own."""
    return scene.plan(scene.step("s1", "work.write", estimated_risk="Medium"))


@pytest.fixture
def agent(scene: Scene) -> Agent:
    """Begin a run; it waits at its plan's gate."""
    agent = scene.agent(gated(scene), "the answer")
    scene.ask(agent)
    return agent


def refused(scene: Scene, agent: Agent, given: Any, match: str | None = None) -> PlanwrightError:
    """Enter with something, and demand an error that changed nothing and a gate that still works."""
    before = scene.everything()
    with pytest.raises(PlanwrightError, match=match) as caught:
        agent.invoke(given, scene.config)
    assert scene.everything() == before
    assert scene.decide(agent, "approve")["answer"] == "the answer"
    assert scene.done == ["s1"]
    return caught.value


@pytest.mark.parametrize("resume", NO_DECISIONS, ids=str)
def test_what_is_no_decision_is_refused(resume: Any, scene: Scene, agent: Agent) -> None:
    assert isinstance(refused(scene, agent, Command(resume=resume)), GateError)


@pytest.mark.parametrize(
    "resume",
    [
        {"type": "approve", "gate_id": WRONG},
        {**APPROVE, "gate_id": WRONG},
        {"decisions": [{"type": "approve", "gate_id": WRONG}]},
        [{"type": "approve", "gate_id": WRONG}],
    ],
    ids=["beside the type", "beside the decisions", "in the decision", "in a list"],
)
def test_a_wrong_gate_id_is_refused_wherever_it_stands(resume: Any, scene: Scene, agent: Agent) -> None:
    assert isinstance(refused(scene, agent, Command(resume=resume), WRONG), GateError)


def test_a_gate_of_another_thread_is_not_answered_here(scene: Scene, agent: Agent, tmp_path: Path) -> None:
    gate = scene.waiting(agent)["plan"]
    elsewhere, agent_there = type(scene)(tmp_path), scene.agent(gated(scene))
    elsewhere.ask(agent_there)
    before = scene.everything()
    with pytest.raises(GateError, match=gate):
        elsewhere.answer(agent_there, {gate: "approve"})
    assert scene.everything() == before


@pytest.mark.parametrize("key", [WRONG, "0" * 32])
def test_a_map_by_an_unknown_id_is_refused(key: str, scene: Scene, agent: Agent) -> None:
    assert isinstance(refused(scene, agent, Command(resume={key: APPROVE}), key), GateError)


def test_a_stale_plan_hash_is_refused(scene: Scene, agent: Agent) -> None:
    stale = {"type": "approve", "plan_hash": "0" * 64}
    assert isinstance(refused(scene, agent, Command(resume=stale), "plan_hash"), GateError)


def test_the_plan_hash_that_was_shown_is_accepted(scene: Scene, agent: Agent) -> None:
    (asked,) = agent.get_state(scene.config).interrupts
    scene.answer(agent, {"type": "approve", "plan_hash": asked.value["plan_hash"]})
    assert scene.done == ["s1"]


def test_a_new_message_over_an_open_gate_is_refused_with_the_gates_id(scene: Scene, agent: Agent) -> None:
    gate = scene.waiting(agent)["plan"]
    error = refused(scene, agent, {"messages": [("user", "And another thing")]}, gate)
    assert isinstance(error, RunError)


@pytest.mark.parametrize(
    "command",
    [
        Command(goto="dispatch"),
        Command(update={"approved": True}),
        Command(resume=APPROVE, goto="dispatch"),
        Command(resume=APPROVE, update={"approved": True}),
        Command(),
    ],
    ids=["goto", "update", "resume and goto", "resume and update", "nothing"],
)
def test_a_command_that_does_more_than_resume_is_refused(
    command: Command[Any], scene: Scene, agent: Agent
) -> None:
    assert isinstance(refused(scene, agent, command, "only resume"), GateError)


def test_a_refused_answer_leaves_no_checkpoint(scene: Scene, agent: Agent) -> None:
    before = [found.config for found in agent.get_state_history(scene.config)]
    with pytest.raises(GateError):
        scene.answer(agent, {"foo": 1})
    assert [found.config for found in agent.get_state_history(scene.config)] == before


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_a_second_answer_to_a_run_that_ended_is_refused(decision: str, scene: Scene, agent: Agent) -> None:
    scene.decide(agent, "approve")
    before = scene.everything()
    with pytest.raises(GateError, match="waits for a decision"):
        scene.decide(agent, decision)
    assert scene.everything() == before


def test_a_second_answer_never_reaches_the_gate_behind_the_first(scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.destroy")), "the answer")
    scene.ask(agent)
    answer = {"type": "approve", "gate_id": scene.waiting(agent)["plan"]}
    scene.answer(agent, answer)
    before = scene.everything()
    with pytest.raises(GateError, match=answer["gate_id"]):
        scene.answer(agent, answer)
    assert scene.everything() == before
    assert (list(scene.waiting(agent)), scene.done) == (["s1"], [])


@pytest.mark.parametrize("given", [Command(resume=APPROVE), None], ids=["an answer", "a recovery"])
def test_an_unknown_thread_is_refused_and_not_begun(given: Any, scene: Scene, agent: Agent) -> None:
    unknown = str(uuid.uuid4())
    with pytest.raises(RunError, match=unknown):
        agent.invoke(given, {"configurable": {"thread_id": unknown}})
    assert scene.rows("SELECT * FROM runs WHERE thread_id = ?", unknown) == []
    assert list(agent.get_state_history({"configurable": {"thread_id": unknown}})) == []


@pytest.fixture
def clock() -> Clock:
    """A clock at noon."""
    return Clock()


@pytest.fixture
def expired(scene: Scene, clock: Clock) -> Agent:
    """Begin a run whose gate closes after an hour, and let two hours pass."""
    agent = scene.agent(gated(scene), "the answer", clock=clock, sessions={"gate_ttl_s": 3600})
    scene.ask(agent)
    clock.now += timedelta(hours=2)
    return agent


def test_an_answer_just_in_time_is_accepted(scene: Scene, clock: Clock) -> None:
    agent = scene.agent(gated(scene), "the answer", clock=clock, sessions={"gate_ttl_s": 3600})
    scene.ask(agent)
    clock.now += timedelta(seconds=3599)
    assert scene.decide(agent, "approve")["status"] == "completed"


def test_an_answer_to_an_expired_gate_is_refused(scene: Scene, expired: Agent) -> None:
    for _ in range(2):
        with pytest.raises(GateError, match="expired at 2026-11-21 13:00:00 UTC"):
            scene.decide(expired, "approve")
    assert scene.done == []
    assert [run["status"] for run in scene.rows("SELECT status FROM runs")] == ["waiting"]


def test_an_answer_by_the_id_of_an_expired_gate_is_refused(scene: Scene, expired: Agent) -> None:
    gate = scene.waiting(expired)["plan"]
    with pytest.raises(GateError, match="expired"):
        scene.answer(expired, {gate: "approve"})
    assert scene.done == []


def test_the_recovery_of_an_expired_run_ends_it_and_runs_nothing(scene: Scene, expired: Agent) -> None:
    output = scene.recover(expired)
    assert (output["status"], scene.done) == ("expired", [])
    assert "2026-11-21 13:00:00 UTC" in output["answer"]


def test_an_expired_gate_inside_a_plan_rejects_only_its_own_step(scene: Scene, clock: Clock) -> None:
    steps = [scene.step("a", "work.destroy"), scene.step("free", "work.read")]
    agent = scene.agent(scene.plan(*steps), "the answer", clock=clock, sessions={"gate_ttl_s": 3600})
    scene.ask(agent)
    scene.decide(agent, "approve")
    clock.now += timedelta(hours=2)
    output = scene.recover(agent)
    assert scene.done == ["free"]
    assert output["status"] == "expired"
