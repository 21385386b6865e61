"""A model that writes its calls as text is told so once; nothing is completed by words of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from planwright.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

WRITTEN = (
    '<tool_call>{"name": "work__read", "arguments": {"name": "a"}}</tool_call>',
    'I will look.\n<|tool_call|>\n{"arguments": {}, "name": "work__read"}',
    '[TOOL_CALLS] [{"name": "work__read", "arguments": {"name": "a"}}]',
    "<function=work__read><parameter=name>a</parameter></function>",
)


@pytest.mark.parametrize("text", WRITTEN)
def test_it_is_told_and_then_calls(scene: Scene, text: str) -> None:
    model = ScriptedModel(replies=[text, scene.calls(("work__read", {"name": "a"})), "I have read a."])
    agent = scene.agent(model=model, planning={"mode": "never"})
    output = scene.ask(agent, "Read a")
    assert (output["status"], output["answer"], scene.done) == ("completed", "I have read a.", ["a"])
    assert "You wrote a call of work__read as text" in model.prompts[1][-1].text


def test_it_fails_where_it_does_so_again(scene: Scene) -> None:
    agent = scene.agent(model=ScriptedModel(replies=[WRITTEN[0]]), planning={"mode": "never"})
    output = scene.ask(agent, "Read a")
    assert (output["status"], scene.done) == ("failed", [])
    assert "wrote its calls as text" in output["answer"]


@pytest.mark.parametrize(
    "text", ["Models write <tool_call> tags.", '<tool_call>{"name": "other"}</tool_call>']
)
def test_words_about_calls_are_words(scene: Scene, text: str) -> None:
    agent = scene.agent(model=ScriptedModel(replies=[text]), planning={"mode": "never"})
    assert scene.ask(agent, "What is a tool call?")["answer"] == text
