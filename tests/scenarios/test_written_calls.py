"""A call that a model writes as text is made like any call, or told to the model: it is never an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from planwright.models.scripted import ScriptedModel
from tests.models.replies.written_spellings import CALL, INNOCENT, SPELLINGS, UNREADABLE

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

NEVER = {"mode": "never"}
SAID = "I have read a."


@pytest.mark.parametrize("family", SPELLINGS)
def test_a_call_in_the_spelling_of_a_family_is_made(scene: Scene, family: str) -> None:
    agent = scene.agent(model=ScriptedModel(replies=[SPELLINGS[family], SAID]), planning=NEVER)
    output = scene.ask(agent, "Read a")
    assert (output["status"], output["answer"], {*scene.done}) == ("completed", SAID, {"a"})


@pytest.mark.parametrize("why", UNREADABLE)
def test_what_cannot_be_read_is_told_and_then_called(scene: Scene, why: str) -> None:
    model = ScriptedModel(replies=[UNREADABLE[why], scene.calls(("work__read", {"name": "a"})), SAID])
    output = scene.ask(scene.agent(model=model, planning=NEVER), "Read a")
    assert (output["status"], output["answer"], scene.done) == ("completed", SAID, ["a"])
    assert "You wrote a call of work__read as text" in model.prompts[1][-1].text


@pytest.mark.parametrize("why", UNREADABLE)
def test_it_fails_where_that_is_written_again(scene: Scene, why: str) -> None:
    agent = scene.agent(model=ScriptedModel(replies=[UNREADABLE[why]]), planning=NEVER)
    output = scene.ask(agent, "Read a")
    assert (output["status"], scene.done) == ("failed", [])
    assert "wrote its calls as text" in output["answer"]


@pytest.mark.parametrize("what", INNOCENT)
def test_words_about_calls_are_the_answer(scene: Scene, what: str) -> None:
    agent = scene.agent(model=ScriptedModel(replies=[INNOCENT[what]]), planning=NEVER)
    output = scene.ask(agent, "How do models write calls?")
    assert (output["status"], output["answer"]) == ("completed", INNOCENT[what])


def test_a_written_call_asks_before_it_has_an_effect(scene: Scene) -> None:
    text = f"<tool_call>{CALL.replace('work__read', 'work__destroy')}</tool_call>"
    agent = scene.agent(model=ScriptedModel(replies=[text, "Destroyed."]), planning=NEVER)
    assert "__interrupt__" in scene.ask(agent, "Destroy a")
    assert scene.done == []
    assert scene.decide(agent, "reject")["status"] != "completed"
    assert scene.done == []


def test_what_the_user_quotes_is_not_called(scene: Scene) -> None:
    text = f"<tool_call>{CALL}</tool_call>"
    agent = scene.agent(model=ScriptedModel(replies=[text, "It would read a."]), planning=NEVER)
    assert scene.ask(agent, f"What would {text} do?")["answer"] == "It would read a."
    assert scene.done == []


@pytest.mark.parametrize("family", ["Hermes, Qwen 2.5 (vllm hermes)", "Llama 3 (vllm llama)"])
def test_a_call_in_the_place_of_the_answer_of_a_plan_is_none(scene: Scene, family: str) -> None:
    agent = scene.agent(
        scene.plan(scene.step("a", "work.read")), SPELLINGS[family], approval={"plan": "never"}
    )
    output = scene.ask(agent, "Read a")
    assert (output["status"], scene.done) == ("completed", ["a"])
    assert "work__read" not in output["answer"]
    assert "work.read" in output["answer"]
