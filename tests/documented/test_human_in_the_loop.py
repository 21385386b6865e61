"""https://docs.langchain.com/oss/python/langchain/human-in-the-loop"""

from __future__ import annotations

from typing import Any

import pytest

from planwright.domain.errors import GateError
from tests.documented.conftest import Play, differs


def request(play: Play) -> Any:
    """Read what the first gate asks."""
    return play.ask()["__interrupt__"][0].value


def answer(play: Play, *decisions: Any) -> Any:
    """Answer with decisions."""
    return play.scene.answer(play.agent, {"decisions": list(decisions)})


def test_action_requests(calling: Play) -> None:
    """The interrupt lists each action with its name, arguments and description."""
    (action, *_) = request(calling)["action_requests"]
    assert action["name"] == "work.wipe"
    assert action["args"]["name"] == "a"
    assert action["description"]


def test_review_configs(calling: Play) -> None:
    """The interrupt lists for each name of an action which decisions may be taken."""
    (config, *_) = request(calling)["review_configs"]
    assert config["action_name"] == "work.wipe"
    assert {"approve", "reject"} <= set(config["allowed_decisions"])


def test_approve(writing: Play) -> None:
    """`approve` lets the action run as it is."""
    request(writing)
    assert answer(writing, {"type": "approve"})["status"] == "completed"
    assert writing.scene.done == ["s1"]


def test_edit(writing: Play) -> None:
    """`edit` brings another action in the place of the one that was asked for."""
    args = request(writing)["action_requests"][0]["args"]
    args["plan"]["steps"][0]["params"]["name"] = "edited"
    answer(writing, {"type": "edit", "edited_action": {"name": "approve_plan", "args": args}})
    answer(writing, {"type": "approve"})
    assert writing.scene.done == ["edited"]


@differs("what a person edited is verified and shown again before it runs: it may ask for more than before")
def test_an_edit_runs_at_once(writing: Play) -> None:
    """What was edited runs without another question."""
    args = request(writing)["action_requests"][0]["args"]
    args["plan"]["steps"][0]["params"]["name"] = "edited"
    again = answer(writing, {"type": "edit", "edited_action": {"name": "approve_plan", "args": args}})
    assert again["__interrupt__"][0].value["shown"]["steps"][0]["params"]["name"] == "edited"
    assert writing.scene.done == []


def test_reject(writing: Play) -> None:
    """`reject` keeps the action from running."""
    request(writing)
    answer(writing, {"type": "reject"})
    assert writing.scene.done == []


def test_reject_with_a_message(calling: Play) -> None:
    """The message of a rejection is told to the model in the place of a result."""
    for waiting in calling.ask()["__interrupt__"]:
        calling.scene.answer(
            calling.agent,
            {waiting.id: {"decisions": [{"type": "reject", "message": "never on a Monday"}]}},
        )
    told = calling.agent.get_state(calling.config).values
    assert told["status"] in ("completed", "rejected")
    assert calling.scene.done == []
    reasons = [row["reason"] for row in calling.scene.rows("SELECT reason FROM gates")]
    assert "never on a Monday" in reasons


def test_respond(writing: Play) -> None:
    """`respond` answers the model with words instead of a decision."""
    request(writing)
    again = answer(writing, {"type": "respond", "message": "only on a Tuesday"})
    assert again["__interrupt__"] or again["status"]
    assert writing.scene.done == []


@differs("an answer with another number of decisions than actions is refused, and the gate stays open")
def test_number_of_decisions(writing: Play) -> None:
    """There is one decision for each action, in the same order."""
    request(writing)
    with pytest.raises(GateError, match="exactly one decision"):
        answer(writing, {"type": "approve"}, {"type": "approve"})
    assert writing.agent.get_state(writing.config).interrupts


def test_a_decision_that_is_not_allowed(calling: Play) -> None:
    """A decision that is not among those allowed is refused."""
    first = calling.ask()["__interrupt__"][0]
    refused = "launch"
    with pytest.raises(GateError):
        calling.scene.answer(calling.agent, {first.id: {"decisions": [{"type": refused}]}})
    assert calling.scene.done == []


def test_actions_that_need_nobody(reading: Play) -> None:
    """Actions that need no review run without an interrupt."""
    assert "__interrupt__" not in reading.ask()
    assert reading.scene.done == ["s1"]
