"""https://docs.langchain.com/oss/python/langgraph/persistence"""

from __future__ import annotations

from itertools import pairwise

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.types import StateSnapshot

from planwright.domain.errors import SetupError
from tests.documented.conftest import APPROVE, MESSAGE, Play, differs, loop_of
from tests.scenarios.conftest import Scene, said

pytestmark = pytest.mark.long


def test_state(played: Play) -> None:
    """`get_state` returns the newest snapshot: values, next, config, metadata, time, parent and tasks."""
    state = played.agent.get_state(played.config)
    assert isinstance(state, StateSnapshot)
    assert state.values["answer"] == "the answer"
    assert (state.next, state.tasks) == ((), ())
    assert state.config["configurable"]["thread_id"] == played.scene.thread
    assert state.metadata is not None
    assert state.metadata["source"] == "loop"
    assert state.created_at
    assert state.parent_config


def test_state_of_a_checkpoint(played: Play) -> None:
    """`get_state` with a checkpoint id returns the snapshot of that checkpoint."""
    older = played.history()[3]
    assert played.agent.get_state(older.config).values == older.values


def test_state_of_an_unknown_thread(ended: Play) -> None:
    """The state of a thread that there is not is empty."""
    state = ended.agent.get_state({"configurable": {"thread_id": "nowhere"}})
    assert (state.values, state.next, state.created_at) == ({}, (), None)


@differs(
    "a loop is a subgraph: the history of its thread has it as one superstep, however many calls it makes"
)
def test_history_of_a_loop(scene: Scene) -> None:
    """The history of a thread has a snapshot for each turn of the model and each call of a tool."""
    play = loop_of(scene, "r1", "r2", "r3")
    play.ask()
    nodes = [node for state in reversed(play.history()) for node in state.next]
    assert nodes == ["__start__", "session_event", "budget", "agentic_loop", "consolidate", "session_close"]


def test_history(played: Play) -> None:
    """`get_state_history` lists all snapshots of a thread, the newest first."""
    history = played.history()
    times = [state.created_at for state in history]
    assert times == sorted(times, reverse=True)
    assert history[0] == played.agent.get_state(played.config)


def test_history_is_linked(played: Play) -> None:
    """Each snapshot names the one before it as its parent; the first has none."""
    history = played.history()
    for newer, older in pairwise(history):
        assert newer.parent_config == older.config
    assert history[-1].parent_config is None


def test_history_limit(played: Play) -> None:
    """`limit` bounds how many snapshots are listed."""
    assert list(played.agent.get_state_history(played.config, limit=2)) == played.history()[:2]


def test_history_before(played: Play) -> None:
    """`before` lists the snapshots older than a checkpoint."""
    history = played.history()
    assert list(played.agent.get_state_history(played.config, before=history[2].config)) == history[3:]


def test_history_filter(played: Play) -> None:
    """`filter` chooses snapshots by their metadata."""
    inputs = list(played.agent.get_state_history(played.config, filter={"source": "input"}))
    assert len(inputs) == (2 if played.earlier else 1)
    assert inputs[-1] == played.history()[-1]


def test_steps_are_counted(played: Play) -> None:
    """The metadata count supersteps: -1 for the input, then from 0 on."""
    steps = [state.metadata["step"] for state in reversed(played.history())]
    assert steps == list(range(-1, len(steps) - 1))


def test_next(waiting: Play) -> None:
    """`next` names the node that comes next, and its task holds the interrupt."""
    state = waiting.agent.get_state(waiting.config)
    assert state.next == ("plan_approval",)
    (task,) = state.tasks
    assert (task.name, len(task.interrupts)) == ("plan_approval", 1)


def test_threads_are_apart(played: Play) -> None:
    """Each thread has a state of its own."""
    other = {"configurable": {"thread_id": "other"}}
    played.agent.invoke(MESSAGE, other)
    messages = played.agent.get_state(played.config).values["messages"]
    assert len(messages) == played.earlier + len(played.types)


def test_a_thread_goes_on(ended: Play) -> None:
    """A second input on a thread finds the messages of the first."""
    output = ended.agent.invoke(MESSAGE, ended.config)
    assert [message.type for message in output["messages"]] == ["human", "ai", "tool", "ai"] * 2


def test_a_conversation_holds_calls_and_results(played: Play) -> None:
    """A conversation holds the calls of a model and a `ToolMessage` for each, with ids of their own."""
    messages = played.agent.get_state(played.config).values["messages"]
    turns = 2 if played.earlier else 1
    assert [message.type for message in messages] == played.types * turns
    called = [call["id"] for message in messages if message.type == "ai" for call in message.tool_calls]
    assert called == [message.tool_call_id for message in messages if message.type == "tool"]
    assert len(set(called)) == turns * len(played.calls)
    assert len({message.id for message in messages}) == len(messages)


def test_no_thread(reading: Play) -> None:
    """A graph with a checkpointer refuses to run without a thread id."""
    with pytest.raises(SetupError, match="thread id"):
        reading.agent.invoke(MESSAGE)


def test_update_state(waiting: Play) -> None:
    """`update_state` writes a new checkpoint, as if a node had returned the update."""
    before = len(waiting.history())
    waiting.agent.update_state(waiting.config, {"answer": "noted"}, as_node="plan_gate")
    state = waiting.agent.get_state(waiting.config)
    assert (state.values["answer"], len(waiting.history())) == ("noted", before + 1)
    assert state.metadata is not None
    assert state.metadata["source"] == "update"


def test_update_goes_through_the_reducer(played: Play) -> None:
    """An update of a channel with a reducer is joined with what is there."""
    played.agent.update_state(played.config, {"messages": [("ai", "by the way")]}, as_node="session_close")
    texts = [message.text for message in said(played.agent.get_state(played.config).values["messages"])]
    assert texts[-3:] == ["Wipe it", "the answer", "by the way"]


@differs("what a person approved is read from the records: a state that says more changes nothing")
def test_update_of_what_is_approved(waiting: Play) -> None:
    """What `update_state` writes is what the next node works with."""
    plan = waiting.agent.get_state(waiting.config).values["plan"]
    steps = tuple(step.model_copy(update={"params": {"name": "forged"}}) for step in plan.steps)
    forged = plan.model_copy(update={"steps": steps})
    waiting.agent.update_state(waiting.config, {"plan": forged}, as_node="plan_gate")
    waiting.scene.answer(waiting.agent, APPROVE)
    assert "forged" not in waiting.scene.done


def test_finished_siblings_are_kept(scene_with_a_failing_step: Play) -> None:
    """Where one task of a superstep fails, what the others wrote is kept and they do not run again."""
    play = scene_with_a_failing_step
    play.ask()
    assert play.scene.done.count("good") == 1


def test_another_process(waiting: Play) -> None:
    """Another process with the same checkpointer goes on with a thread."""
    other = waiting.scene.agent("the answer")
    assert other.invoke(None, waiting.config)["__interrupt__"]
    assert waiting.scene.answer(other, APPROVE)["answer"] == "the answer"


def test_delete_thread(played: Play) -> None:
    """`delete_thread` of the checkpointer removes the checkpoints of a thread."""
    played.agent.stores.saver.delete_thread(played.scene.thread)
    assert played.history() == []


def test_copy_of_messages(played: Play) -> None:
    """Values read from a checkpoint have the types that were written: messages, models, tuples."""
    values = played.agent.get_state(played.config).values
    types = [type(message) for message in values["messages"][played.earlier :]]
    assert types == [HumanMessage, *[AIMessage, ToolMessage] * len(played.calls), AIMessage]
    assert type(values["plan"]).__name__ == ("NoneType" if played.model else "Plan")


@pytest.fixture
def scene_with_a_failing_step(reading: Play) -> Play:
    """An agent whose plan has a step that fails beside one that does not."""
    scene = reading.scene
    plan = scene.plan(scene.step("good", "work.write"), scene.step("bad", "work.fail"))
    return Play(scene.agent(plan, "the answer", approval={"plan": "never"}), scene)
