"""https://docs.langchain.com/oss/python/langgraph/use-time-travel"""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.types import Command

from planwright.domain.errors import RunError
from tests.documented.conftest import APPROVE, Play, differs
from tests.scenarios.conftest import said

pytestmark = pytest.mark.long


def before(play: Play, node: str) -> Any:
    """Find the state in front of a node."""
    return next(state for state in play.history() if state.next == (node,))


def test_find_a_checkpoint(ended: Play) -> None:
    """The history shows in front of which node each checkpoint lies."""
    assert before(ended, "respond").values["answer"] == ""


@differs("a new run begins there, which keeps what was done: steps are not carried out again")
def test_replay(ended: Play) -> None:
    """`invoke(None)` with an older checkpoint runs the nodes after it again."""
    agent = ended.scene.agent("another answer")
    output = agent.invoke(None, before(ended, "respond").config)
    assert (output["answer"], ended.scene.done) == ("another answer", ["s1"])


def test_another_message(ended: Play) -> None:
    """A new input with an older checkpoint begins from the state of that time."""
    plan = ended.scene.plan(ended.scene.step("s2", "work.read"))
    agent = ended.scene.agent(plan, "another answer")
    first = ended.history()[-1]
    output = agent.invoke({"messages": [("user", "Something else")]}, first.config)
    assert [message.text for message in said(output["messages"])] == ["Something else", "another answer"]


def test_history_is_kept(ended: Play) -> None:
    """Going back adds to the history; what was is still there."""
    earlier = ended.history()
    ended.scene.agent("another answer").invoke(None, before(ended, "respond").config)
    assert ended.history()[-len(earlier) :] == earlier


@differs("it is refused: a plan that was changed has to be verified and approved; `agent.fork` does that")
def test_update_of_the_past(ended: Play) -> None:
    """`update_state` with an older checkpoint forks the thread there."""
    old = before(ended, "respond").config
    with pytest.raises(RunError, match="planwright fork"):
        ended.agent.update_state(old, {"answer": "another"}, as_node="respond")


@differs("it is refused: the gate that asked has been answered, or another is open")
def test_answer_in_the_past(waiting: Play) -> None:
    """A resume with the checkpoint of an earlier interrupt answers that once more."""
    gate = before(waiting, "plan_approval").config
    waiting.scene.answer(waiting.agent, APPROVE)
    with pytest.raises(RunError, match="planwright fork"):
        waiting.agent.invoke(Command(resume=APPROVE), gate)
    assert waiting.scene.done == ["s1"]


def test_fork(ended: Play) -> None:
    """A fork goes another way from a checkpoint, and leaves the thread as it is."""
    newest = ended.agent.get_state(ended.config)
    config = ended.scene.agent("another answer").fork(before(ended, "respond").config)
    assert ended.scene.agent("another answer").invoke(None, config)["answer"] == "another answer"
    assert ended.agent.get_state(ended.config) == newest
