"""An edited message and an answer asked for anew begin at an older checkpoint, and do nothing again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.runnables import RunnableConfig

from planwright.domain.errors import RunError
from planwright.upkeep.store_check import check_store
from tests.scenarios.conftest import said

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from langgraph.types import StateSnapshot

    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

ALWAYS: dict[str, Any] = {"approval": {"plan": "never"}}


def words(output: dict[str, Any]) -> list[str]:
    """Read what a conversation consists of."""
    return [message.text for message in said(output["messages"])]


def states(scene: Scene, agent: Agent) -> list[StateSnapshot]:
    """List the states of the scene's thread, the oldest first."""
    return list(reversed(list(agent.get_state_history(scene.config))))


def parent_of(scene: Scene, agent: Agent, text: str) -> RunnableConfig:
    """Find what chat pages rewind to: the state before the first in which a message is."""
    for state in states(scene, agent):
        if any(message.text == text for message in state.values.get("messages", [])):
            assert state.parent_config is not None
            return state.parent_config
    raise AssertionError(text)


def edit(agent: Agent, config: RunnableConfig, text: str) -> dict[str, Any]:
    """Send another message in the place of one."""
    output: dict[str, Any] = agent.invoke({"messages": [("user", text)]}, config)
    return output


def read(scene: Scene, name: str) -> str:
    return scene.plan(scene.step(name, "work.read"))


def write(scene: Scene, name: str, **params: Any) -> str:
    return scene.plan(scene.step(name, "work.write", **params))


def test_an_edited_message_takes_the_place_of_what_followed(scene: Scene) -> None:
    extracted = '{"task": "third"}'
    agent = scene.agent(
        read(scene, "a"), "first answer", extracted, read(scene, "b"), "second answer",
        extracted, read(scene, "c"), "third answer",
    )  # fmt: skip
    scene.ask(agent, "first")
    scene.ask(agent, "second")
    output = edit(agent, parent_of(scene, agent, "second"), "third")
    assert words(output) == ["first", "first answer", "third", "third answer"]
    assert scene.done == ["a", "b", "c"]
    assert words(agent.get_state(scene.config).values) == words(output)


def test_the_first_message_can_be_edited(scene: Scene) -> None:
    agent = scene.agent(read(scene, "a"), "first answer", read(scene, "b"), "second answer")
    scene.ask(agent, "first")
    output = edit(agent, parent_of(scene, agent, "first"), "second")
    assert words(output) == ["second", "second answer"]


def test_a_message_takes_the_place_of_the_request_that_was_at_work(scene: Scene) -> None:
    agent = scene.agent(read(scene, "a"), "first answer", read(scene, "b"), "second answer")
    scene.ask(agent, "first")
    at_work = next(state for state in states(scene, agent) if state.next == ("verify",))
    assert words(edit(agent, at_work.config, "second")) == ["second", "second answer"]


def test_the_new_state_is_a_child_of_the_old_checkpoint(scene: Scene) -> None:
    agent = scene.agent(read(scene, "a"), "first answer", read(scene, "b"), "second answer")
    scene.ask(agent, "first")
    base = parent_of(scene, agent, "first")
    edit(agent, base, "second")
    parents = [state.parent_config for state in states(scene, agent) if state.parent_config]
    ids = [parent["configurable"]["checkpoint_id"] for parent in parents]
    assert ids.count(base["configurable"]["checkpoint_id"]) == 2


def test_an_answer_asked_for_anew_does_nothing_again(scene: Scene) -> None:
    agent = scene.agent(write(scene, "a"), "first answer", "second answer", **ALWAYS)
    scene.ask(agent, "first")
    output = agent.invoke(None, parent_of(scene, agent, "first answer"))
    assert words(output) == ["first", "second answer"]
    assert scene.done == ["a"]
    runs = scene.rows("SELECT status FROM runs WHERE thread_id = ?", scene.thread)
    assert [row["status"] for row in runs] == ["completed", "completed"]


def test_an_older_answer_can_be_asked_for_anew(scene: Scene) -> None:
    agent = scene.agent(
        write(scene, "a"), "first answer", '{"task": "second"}', write(scene, "b"), "second answer",
        "third answer", **ALWAYS,
    )  # fmt: skip
    scene.ask(agent, "first")
    scene.ask(agent, "second")
    output = agent.invoke(None, parent_of(scene, agent, "first answer"))
    assert words(output) == ["first", "third answer"]
    assert scene.done == ["a", "b"]


def test_a_person_is_asked_before_an_edited_message_does_again_what_was_done(scene: Scene) -> None:
    agent = scene.agent(write(scene, "a"), "first answer", write(scene, "a"), "second answer", **ALWAYS)
    scene.ask(agent, "first")
    (first,) = scene.rows("SELECT run_id FROM runs")
    output = edit(agent, parent_of(scene, agent, "first"), "second")
    assert scene.done == ["a"]
    (waiting,) = output["__interrupt__"]
    assert waiting.value["shown"]["done_before"] == first["run_id"]
    assert words(scene.decide(agent, "approve")) == ["second", "second answer"]
    assert scene.done == ["a", "a"]


def test_what_runs_since_have_done_counts_as_done_before(scene: Scene) -> None:
    agent = scene.agent(
        read(scene, "r"), "first answer", '{"task": "second"}', write(scene, "b"), "second answer",
        write(scene, "b"), "third answer", **ALWAYS,
    )  # fmt: skip
    scene.ask(agent, "first")
    scene.ask(agent, "second")
    output = edit(agent, parent_of(scene, agent, "first"), "third")
    (_, second) = scene.rows("SELECT run_id FROM runs ORDER BY rowid LIMIT 2")
    assert output["__interrupt__"][0].value["shown"]["done_before"] == second["run_id"]
    assert scene.done == ["r", "b"]


@pytest.mark.parametrize("given", [{"messages": [("user", "again")]}, None], ids=["message", "nothing"])
def test_a_run_that_waits_is_decided_first(scene: Scene, given: Any) -> None:
    agent = scene.agent(write(scene, "a", estimated_risk="Medium"), "the answer")
    scene.ask(agent, "first")
    before = scene.everything()
    with pytest.raises(RunError, match=r"planwright (approve|fork)"):
        agent.invoke(given, parent_of(scene, agent, "first"))
    assert scene.everything() == before


def test_a_run_that_began_at_an_older_checkpoint_goes_on_by_its_thread(scene: Scene) -> None:
    plan = scene.plan(scene.step("b", "work.write", estimated_risk="Medium"))
    agent = scene.agent(read(scene, "a"), "first answer", plan, "second answer")
    scene.ask(agent, "first")
    assert edit(agent, parent_of(scene, agent, "first"), "second")["__interrupt__"]
    assert words(scene.decide(agent, "approve")) == ["second", "second answer"]


@pytest.mark.parametrize("death", ["fork", "plan", "end"])
def test_a_process_that_dies_as_it_rewinds_is_taken_up_by_the_next(scene: Scene, death: str) -> None:
    first = scene.agent(read(scene, "a"), "first answer")
    scene.ask(first, "first")
    base = parent_of(scene, first, "first")["configurable"]["checkpoint_id"]
    replies = [read(scene, "b"), "second answer"]
    entry = scene.entry(message="second", checkpoint_id=base)
    scene.child(entry, replies=replies, die_at=death)
    second = scene.agent(*(replies if death == "fork" else ["second answer"]))
    assert words(scene.recover(second)) == ["second", "second answer"]
    assert [row["request"] for row in scene.rows("SELECT request FROM runs")] == ["first", "second"]
    assert words(second.get_state(scene.config).values) == ["second", "second answer"]


def test_two_who_rewind_at_once_begin_one_run(scene: Scene) -> None:
    replies = [read(scene, "b"), "second answer"]
    agents = [scene.agent(read(scene, "a"), "first answer", *replies), scene.agent(*replies)]
    scene.ask(agents[0], "first")
    base = parent_of(scene, agents[0], "first")
    with ThreadPoolExecutor(2) as pool:
        done = [pool.submit(edit, agent, base, "second") for agent in agents]
    refused = [work.exception() for work in done if work.exception()]
    begun = [words(work.result()) for work in done if not work.exception()]
    assert begun[0] == ["second", "second answer"]
    assert len(refused) == 2 - len(begun)
    assert all(isinstance(error, RunError) for error in refused)


@pytest.mark.sqlite
def test_the_store_is_in_order_after_rewinding(scene: Scene) -> None:
    agent = scene.agent(write(scene, "a"), "one", "two", read(scene, "b"), "three", **ALWAYS)
    scene.ask(agent, "first")
    agent.invoke(None, parent_of(scene, agent, "one"))
    edit(agent, parent_of(scene, agent, "first"), "second")
    agent.close()
    assert check_store(scene.workspace / ".planwright") == []
