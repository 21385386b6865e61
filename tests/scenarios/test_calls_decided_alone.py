"""The calls of one card are decided one by one: made, made otherwise, left out, or answered by a person."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planwright.domain.errors import GateError
from planwright.models.scripted import ScriptedModel
from tests.scenarios.conftest import Scene

APPROVE, REJECT = {"type": "approve"}, {"type": "reject", "message": "not that one"}


def edit(tool: str, **args: Any) -> dict[str, Any]:
    """Make the edit of a call, in LangChain's form."""
    return {"type": "edit", "edited_action": {"name": tool, "args": args}}


def asking(scene: Scene, *names: str) -> tuple[Any, ScriptedModel]:
    """Let an agent ask for a write of each name, in one reply; return it with its model."""
    model = ScriptedModel(replies=[scene.calls(*(("work__write", {"name": n}) for n in names)), "the answer"])
    agent = scene.agent(model=model, planning={"mode": "auto"}, approval={"tool_risk": "Low"})
    scene.ask(agent, "Write them")
    return agent, model


def told(model: ScriptedModel) -> list[str]:
    """List what the model was told of its calls, in their order."""
    return [message.text for message in model.prompts[-1] if message.type == "tool"]


def test_each_call_of_a_card_has_a_decision_of_its_own(scene: Scene) -> None:
    agent, model = asking(scene, "a", "b", "c", "d")
    answer = {"type": "respond", "message": "it is there already"}
    decisions = [APPROVE, REJECT, answer, edit("work.write", name="other")]
    assert scene.answer(agent, {"decisions": decisions})["status"] == "completed"
    assert scene.done == ["a", "other"]
    assert "not that one" in told(model)[1]
    assert told(model)[2].endswith("it is there already")


def test_what_is_left_out_does_not_keep_the_others_back_that_a_person_approved(scene: Scene) -> None:
    agent, model = asking(scene, "a", "b", "c")
    scene.answer(agent, {"decisions": [APPROVE, REJECT, edit("work.write", name="other")]})
    assert scene.done == ["a", "other"]
    assert '"other"' in told(model)[2]
    effects = scene.rows("SELECT args FROM effects ORDER BY rowid")
    assert [json.loads(row["args"])["name"] for row in effects] == ["a", "other"]


def test_what_a_person_says_with_a_yes_or_an_edit_is_read_by_the_model(scene: Scene) -> None:
    agent, model = asking(scene, "a", "b", "c")
    edited = edit("work.write", name="other") | {"message": "b is taken"}
    scene.answer(agent, {"decisions": [APPROVE | {"message": "but no more of them"}, edited, APPROVE]})
    assert scene.done == ["a", "other", "c"]
    words = [text.partition("a person approved it, and says: ")[2].partition("\n")[0] for text in told(model)]
    assert words == ["but no more of them", "b is taken", ""]


def test_words_with_one_yes_for_all_are_read_with_each_call(scene: Scene) -> None:
    agent, model = asking(scene, "a", "b")
    scene.answer(agent, {"type": "approve", "message": "be quick", "remember": "run"})
    assert ["says: be quick\n" in text for text in told(model)] == [True, True]


def test_what_a_rule_says_for_a_person_is_not_told_as_their_words(scene: Scene) -> None:
    replies = [scene.calls(("work__send", {"name": name, "to": "ann"})) for name in ("a", "b")]
    model = ScriptedModel(replies=[*replies, "the answer"])
    agent = scene.agent(model=model, planning={"mode": "auto"})
    scene.ask(agent, "Write them")
    scene.answer(agent, {"type": "approve", "remember": "run"})
    assert scene.done == ["a>ann", "b>ann"]
    assert [row["channel"] for row in scene.rows("SELECT channel FROM gates")] == ["python", "rule"]
    assert "and says" not in "".join(told(model))


def test_one_call_takes_an_edit_an_answer_and_a_no(scene: Scene) -> None:
    for decision, done in (
        (edit("work.write", name="other"), ["other"]),
        (REJECT, ["other"]),
        ({"type": "respond", "message": "it is there already"}, ["other"]),
        (APPROVE, ["other", "a"]),
    ):
        agent, _ = asking(scene, "a")
        scene.answer(agent, {"decisions": [decision]})
        assert scene.done == done


@pytest.mark.parametrize(
    ("decisions", "why"),
    [
        ([APPROVE], "asks about 2 calls"),
        ([APPROVE, APPROVE, APPROVE], "asks about 2 calls"),
        ([APPROVE, edit("work.destroy", name="b")], "keeps the tool"),
        ([APPROVE, edit("work.write", nonsense=1)], "may not be made"),
        ([APPROVE, {"type": "respond"}], "without words"),
        ([APPROVE, REJECT | {"remember": "run"}], "remember"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_and_the_gate_stays(
    scene: Scene, decisions: list[Any], why: str
) -> None:
    agent, _ = asking(scene, "a", "b")
    with pytest.raises(GateError, match=why):
        scene.answer(agent, {"decisions": decisions})
    assert scene.done == []
    assert scene.answer(agent, "approve")["status"] == "completed"
    assert scene.done == ["a", "b"]


def test_a_step_of_a_plan_is_edited_at_its_own_gate(scene: Scene) -> None:
    plan = scene.plan(scene.step("s1", "work.destroy"))
    agent = scene.agent(plan, "the answer", approval={"depth": "plan"})
    scene.ask(agent, "Wipe it")
    scene.answer(agent, "approve")
    scene.answer(agent, {"decisions": [edit("work.destroy", name="other")]})
    assert scene.done == ["other"]
