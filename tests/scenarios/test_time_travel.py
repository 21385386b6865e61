"""An old checkpoint can be looked at and forked, but no run goes on from it; see `test_rewind.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, StateUpdate

from planwright.domain.errors import RunError

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from langgraph.types import StateSnapshot

    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

APPROVE: Command[Any] = Command(resume={"decisions": [{"type": "approve"}]})
MESSAGE = {"messages": [("user", "Do it")]}
BEGINNING = ("invoke", "stream", "batch")  # the same request once more, where a run had ended
WAYS: dict[str, Callable[[Any, RunnableConfig], object]] = {
    "invoke": lambda agent, config: agent.invoke(None, config),
    "an answer": lambda agent, config: agent.invoke(APPROVE, config),
    "stream": lambda agent, config: list(agent.stream(None, config)),
    "batch": lambda agent, config: agent.batch([None], config),
    "update_state": lambda agent, config: agent.update_state(config, {"approved": True}, "plan_approval"),
    "bulk_update_state": lambda agent, config: agent.bulk_update_state(
        config, [[StateUpdate({"approved": True}, "plan_approval")]]
    ),
    "bound": lambda agent, config: agent.with_config(config).invoke(None, {}),
}


@pytest.fixture(params=["waiting", "ended", "rejected"])
def played(request: pytest.FixtureRequest, scene: Scene) -> Agent:
    """Play a run until it waits in the middle of its steps, or has ended, or was rejected."""
    steps = scene.step("write", "work.write", estimated_risk="Medium"), scene.step("gone", "work.destroy")
    agent = scene.agent(scene.plan(*steps), "the answer")
    scene.ask(agent)
    scene.decide(agent, "reject" if request.param == "rejected" else "approve")
    if request.param == "ended":
        scene.decide(agent, "approve")
    return agent


def past(scene: Scene, agent: Agent) -> list[StateSnapshot]:
    """List all states of the scene's thread but the newest."""
    return list(agent.get_state_history(scene.config))[1:]


def unanswered(snapshot: StateSnapshot) -> bool:
    """Say whether a request was at work in a state."""
    messages = snapshot.values.get("messages")
    return bool(snapshot.next) and (not messages or messages[-1].type == "human")


@pytest.mark.sampled(5)
@pytest.mark.parametrize("way", WAYS)
def test_nothing_goes_on_from_an_old_checkpoint(way: str, scene: Scene, played: Agent) -> None:
    before, newest = scene.everything(), played.get_state(scene.config)
    begins = way in BEGINNING and not newest.next
    for snapshot in past(scene, played):
        if begins and unanswered(snapshot):
            continue
        with pytest.raises(RunError, match="planwright fork"):
            WAYS[way](played, snapshot.config)
    assert scene.everything() == before
    assert played.get_state(scene.config) == newest


@pytest.mark.sampled(5)
@pytest.mark.parametrize("way", WAYS)
def test_nothing_goes_on_from_an_old_checkpoint_of_a_lane(way: str, scene: Scene, played: Agent) -> None:
    before = scene.everything()
    lanes: dict[str, list[RunnableConfig]] = {}
    for found in played.stores.saver.list(scene.config):
        lanes.setdefault(found.config["configurable"]["checkpoint_ns"], []).append(found.config)
    old = [config for name, configs in lanes.items() if name for config in configs[1:]]
    for config in old:
        with pytest.raises(RunError, match="entered at its top"):
            WAYS[way](played, config)
    assert scene.everything() == before
    assert bool(old) == (scene.done == ["write"])  # a run that has ended needs its lanes no more


def test_old_states_can_be_looked_at(scene: Scene, played: Agent) -> None:
    for snapshot in past(scene, played):
        assert played.get_state(snapshot.config).values == snapshot.values
    asked = next(found for found in past(scene, played) if found.next == ("plan_approval",))
    later = list(played.get_state_history(asked.config))
    assert later[0].values == asked.values


def test_the_newest_checkpoint_may_be_named(scene: Scene) -> None:
    plan = scene.plan(scene.step("write", "work.write", estimated_risk="Medium"))
    agent = scene.agent(plan, "the answer")
    scene.ask(agent)
    output = agent.invoke(APPROVE, agent.get_state(scene.config).config)
    assert (output["status"], scene.done) == ("completed", ["write"])


def test_a_state_update_of_the_newest_checkpoint_returns_one_to_go_on_from(scene: Scene) -> None:
    plan = scene.plan(scene.step("write", "work.write", estimated_risk="Medium"))
    agent = scene.agent(plan, "the answer")
    scene.ask(agent)
    newest = agent.update_state(agent.get_state(scene.config).config, {"answer": "noted"}, "plan_gate")
    assert agent.invoke(None, newest)["__interrupt__"]
    assert agent.invoke(APPROVE, scene.config)["status"] == "completed"


def test_a_checkpoint_of_an_unknown_thread_begins_nothing(scene: Scene) -> None:
    agent = scene.agent("never asked")
    config: RunnableConfig = {"configurable": {"thread_id": "nowhere", "checkpoint_id": "1f0"}}
    with pytest.raises(RunError, match="there is no thread nowhere"):
        agent.invoke(MESSAGE, config)
    assert not (scene.workspace / ".planwright" / "planwright.db").exists()
