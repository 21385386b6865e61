"""An agent in a lane that has to know something asks a person, and goes on with the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import BaseMessage, ToolMessage

from planwright.domain.errors import GateError
from planwright.graph.agent import Agent
from planwright.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

QUESTION = ("clarify", {"questions": ["Which Acme?", "In euros?"]})
READ = ("work__read", {"name": "r"})
DESTROY = ("work__destroy", {"name": "d"})


def plan(scene: Scene) -> str:
    step = {"id": "look", "description": "Find out", "tool_hints": ["work.read", "work.destroy"]}
    return scene.plan(step, scene.step("free", "work.read"), scene.step("next", "work.write", "look"))


def begin(scene: Scene, *replies: Any) -> tuple[Agent, ScriptedModel]:
    """Run the plan to the questions of its agent."""
    model = ScriptedModel(replies=[plan(scene), *replies])
    agent = scene.agent(model=model)
    scene.ask(agent)
    if scene.waiting(agent).keys() == {"plan"}:
        scene.decide(agent, "approve")
    return agent, model


def answered(messages: Sequence[BaseMessage]) -> list[ToolMessage]:
    return [message for message in messages if isinstance(message, ToolMessage)]


def test_the_questions_wait_while_other_steps_go_on(scene: Scene) -> None:
    agent, _ = begin(scene, scene.calls(QUESTION))
    (asked,) = agent.get_state(scene.config).interrupts
    assert asked.value["kind"] == "info"
    assert asked.value["shown"]["args"] == QUESTION[1]
    assert asked.value["review_configs"][0]["allowed_decisions"] == ["respond", "reject"]
    assert scene.done == ["free"]


def test_the_answer_reaches_the_agent_and_its_step_goes_on(scene: Scene) -> None:
    agent, model = begin(scene, scene.calls(QUESTION), scene.calls(READ), "found out", "the answer")
    out = scene.decide(agent, "respond", "Acme Ltd, and in euros")
    assert out["answer"] == "the answer"
    assert scene.done == ["free", "r", "next"]
    (result,) = answered(model.prompts[2])
    assert (result.text, result.status) == ("Acme Ltd, and in euros", "success")


def test_the_answer_may_come_in_another_process(scene: Scene) -> None:
    agent, _ = begin(scene, scene.calls(QUESTION))
    agent.close()
    scene.agents.remove(agent)
    later = scene.agent("found out", "the answer")
    assert scene.decide(later, "respond", "Acme Ltd")["answer"] == "the answer"


def test_a_person_need_not_answer(scene: Scene) -> None:
    agent, model = begin(scene, scene.calls(QUESTION), scene.calls(READ), "without it, then", "the answer")
    assert scene.decide(agent, "reject", "find out yourself")["answer"] == "the answer"
    (result,) = answered(model.prompts[2])
    assert result.status == "error"
    assert "find out yourself" in result.text


def test_questions_and_gates_of_one_reply_are_all_open_before_any_call_is_made(scene: Scene) -> None:
    agent, model = begin(scene, scene.calls(QUESTION, DESTROY, READ), "found out", "the answer")
    kinds = {asked.value["kind"]: asked.id for asked in agent.get_state(scene.config).interrupts}
    assert kinds.keys() == {"info", "step"}
    assert scene.done == ["free"]
    answers = {kinds["step"]: "approve", kinds["info"]: {"type": "respond", "message": "Ltd"}}
    assert scene.answer(agent, answers)["answer"] == "the answer"
    assert sorted(scene.done) == ["d", "free", "next", "r"]
    assert answered(model.prompts[2])[0].text == "Ltd"


@pytest.mark.parametrize("decision", ["approve", "edit"])
def test_a_question_is_not_approved(scene: Scene, decision: str) -> None:
    agent, _ = begin(scene, scene.calls(QUESTION))
    with pytest.raises(GateError):
        scene.decide(agent, decision)
    assert scene.waiting(agent)


def test_a_question_without_words_is_refused_to_the_model(scene: Scene) -> None:
    no_words = scene.calls(("clarify", {"questions": []}))
    agent, model = begin(scene, no_words, scene.calls(READ), "never mind", "the answer")
    assert agent.get_state(scene.config).values["answer"] == "the answer"
    assert "bad arguments" in answered(model.prompts[2])[0].text


def test_a_simple_request_may_end_with_questions_which_the_next_message_answers(scene: Scene) -> None:
    model = ScriptedModel(replies=[scene.calls(QUESTION, text="Two wrote."), "Paid."])
    agent = scene.agent(model=model, planning={"mode": "auto"})
    output = scene.ask(agent, "Clarify, ask a question, read")
    assert output["status"] == "needs_input"
    assert output["answer"] == "\n".join(["Two wrote.", *QUESTION[1]["questions"]])
    assert scene.ask(agent, "The first")["status"] == "completed"
    assert output["answer"] in [message.text for message in model.prompts[-1]]


def test_questions_beside_other_calls_are_put_alone_later(scene: Scene) -> None:
    model = ScriptedModel(replies=[scene.calls(READ, QUESTION), scene.calls(QUESTION)])
    output = scene.ask(scene.agent(model=model, planning={"mode": "auto"}), "Clarify, ask a question, read")
    assert (output["status"], len(scene.done)) == ("needs_input", 1)
    assert "put your questions alone" in answered(model.prompts[1])[1].text
