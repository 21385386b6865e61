"""https://docs.langchain.com/oss/python/langchain/human-in-the-loop"""

from __future__ import annotations

import pytest

from planwright.domain.errors import GateError
from planwright.models.scripted import ScriptedModel
from tests.documented.conftest import Play, answer, differs, request
from tests.scenarios.conftest import Scene

pytestmark = pytest.mark.long


def test_action_requests(two_calls: Play) -> None:
    """The interrupt lists each action with its name, arguments and description."""
    actions = request(two_calls)["action_requests"]
    assert [(action["name"], action["args"]["name"]) for action in actions] == [
        ("work.write", "a"),
        ("work.write", "b"),
    ]
    assert all(action["description"] for action in actions)


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
    calling.ask()
    answer(calling, *[{"type": "reject", "message": "never on a Monday"}] * 2)
    assert calling.model is not None
    told = [message.text for message in calling.model.prompts[-1] if message.type == "tool"]
    assert ["never on a Monday" in text for text in told] == [True, True]
    assert calling.scene.done == []


def test_respond(scene: Scene) -> None:
    """`respond` answers the model with words instead of a decision."""
    plan = scene.plan(scene.step("s1", "work.write", estimated_risk="Medium"))
    model = ScriptedModel(replies=[plan, plan, "the answer"])
    play = Play(scene.agent(model=model), scene)
    request(play)
    assert answer(play, {"type": "respond", "message": "only on a Tuesday"})["__interrupt__"]
    assert "only on a Tuesday" in str(model.prompts[-1])
    assert scene.done == []


def test_one_decision_for_each_action(two_calls: Play) -> None:
    """There is one decision for each action."""
    assert len(request(two_calls)["action_requests"]) == 2
    answer(two_calls, {"type": "approve"}, {"type": "approve"})
    assert sorted(two_calls.scene.done) == ["a", "b"]


def test_decisions_that_differ(two_calls: Play) -> None:
    """The actions of one interrupt may be decided differently."""
    request(two_calls)
    assert answer(two_calls, {"type": "reject"}, {"type": "approve"})["status"] == "completed"
    assert two_calls.scene.done == ["b"]


def test_edit_a_call(two_calls: Play) -> None:
    """`edit` brings other arguments for an action, with which it runs at once."""
    request(two_calls)
    edited = {"name": "work.write", "args": {"name": "edited"}}
    answer(two_calls, {"type": "approve"}, {"type": "edit", "edited_action": edited})
    assert two_calls.scene.done == ["a", "edited"]


def test_respond_to_a_call(two_calls: Play) -> None:
    """`respond` answers in the place of the action, as if it had been made and had returned that."""
    request(two_calls)
    answer(two_calls, {"type": "respond", "message": "it exists"}, {"type": "approve"})
    assert two_calls.model is None or "it exists" in str(two_calls.model.prompts[-1])
    assert two_calls.scene.done == ["b"]


def test_number_of_decisions(writing: Play) -> None:
    """Another number of decisions than of actions is an error."""
    request(writing)
    with pytest.raises(GateError, match="exactly one decision"):
        answer(writing, {"type": "approve"}, {"type": "approve"})


def test_a_decision_that_is_not_allowed(calling: Play) -> None:
    """A decision that is not among those allowed is refused."""
    first = calling.ask()["__interrupt__"][0]
    refused = "launch"
    with pytest.raises(GateError):
        calling.scene.answer(calling.agent, {first.id: {"decisions": [{"type": refused}]}})
    assert calling.scene.done == []


def test_actions_that_need_nobody(typical: Play) -> None:
    """Actions that need no review run without an interrupt."""
    assert "__interrupt__" not in typical.ask()
    assert typical.done == [*typical.calls]
