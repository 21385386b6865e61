"""A loop whose tools do not all fit searches for the others, and calls them from its next turn on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import ToolMessage

from planwright.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

AUTO: dict[str, Any] = {"planning": {"mode": "never"}}
FEW = "[tools]\ntoken_budget = 100\n"
TOP = '[tools]\nfilter = "top_k"\ntop_k = 3\n'
WRITE = ("work__write", {"name": "w"})
SEARCH = ("tools__search", {"query": "write something down"})


def set_up(scene: Scene, settings: str) -> None:
    with (scene.workspace / "planwright.toml").open("a", encoding="utf-8") as file:
        file.write(settings)


def answers(model: ScriptedModel) -> list[str]:
    return [message.text for message in model.prompts[-1] if isinstance(message, ToolMessage)]


@pytest.mark.parametrize("settings", [FEW, TOP], ids=["fit", "top_k"])
def test_a_tool_that_was_left_out_is_called_once_it_is_searched(scene: Scene, settings: str) -> None:
    set_up(scene, settings)
    calls = (scene.calls(WRITE), scene.calls(SEARCH), scene.calls(WRITE))
    model = ScriptedModel(replies=[*calls, "written"])
    output = scene.ask(scene.agent(model=model, **AUTO), "Put it on paper")
    assert (output["status"], output["answer"]) == ("completed", "written")
    refused, lines, result = answers(model)
    assert "there is no tool work__write" in refused
    assert "work.write [local_write](name: str, text?: str)" in lines
    assert "w written" in result
    assert scene.done == ["w"]


def test_a_question_finds_nothing_that_changes_something(scene: Scene) -> None:
    set_up(scene, FEW)
    model = ScriptedModel(replies=[scene.calls(SEARCH), scene.calls(WRITE), "not possible"])
    scene.ask(scene.agent(model=model, **AUTO), "What is there?")
    lines, refused = answers(model)
    assert "work.write" not in lines
    assert "there is no tool work__write" in refused
    assert scene.done == []


def test_what_was_searched_is_still_offered_after_a_kill(scene: Scene) -> None:
    set_up(scene, FEW)
    (scene.workspace / "die-w").touch()
    replies = [scene.calls(SEARCH), scene.calls(WRITE)]
    entry = scene.entry(message="Put it on paper")
    scene.child(entry, replies=replies, settings=AUTO, dies=True)
    again = ScriptedModel(replies=[scene.calls(("work__write", {"name": "second"})), "written"])
    output = scene.recover(scene.agent(model=again, **AUTO))
    assert (output["status"], output["answer"]) == ("completed", "written")
    assert scene.done == ["began w", "w", "second"]
