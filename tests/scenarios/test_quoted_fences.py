"""A model repeats what it was shown, marks and all: nobody reads them, and nothing is done with them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from planwright.models.scripted import ScriptedModel
from tests.scenarios.conftest import Scene

FENCE = re.compile(r"<untrusted-(\w+)>.*?</untrusted-\1>", re.DOTALL)
QUOTES = "QUOTES"
READ = ("files__read", {"path": "note.md"})
DELEGATED = ("agent__delegate", {"task": "read", "tools": ["files.read"]})


class Quoting(ScriptedModel):
    """Repeat the first fenced text of the prompt where the script says so, in words or in a call."""

    quotes: Callable[[str], str | dict[str, Any]] = str
    """Makes a reply of the fenced text."""

    def _reply(self, messages: list[BaseMessage]) -> str | dict[str, Any]:
        reply = super()._reply(messages)
        if reply != QUOTES:
            return reply
        found = FENCE.search("\n".join(message.text for message in messages))
        assert found
        return self.quotes(found[0])


def script(scene: Scene, place: str) -> tuple[str, list[str | dict[str, Any]]]:
    """Write what a model replies until it quotes in a place, and how its run is planned."""
    read = scene.calls(READ)
    match place:
        case "loop":
            return "never", [read, QUOTES]
        case "answer of a plan":
            step = scene.step("s1", "files.read", params={"path": "note.md"})
            return "always", [scene.plan(step), QUOTES]
        case "step left to a model":
            step = {"id": "s1", "description": "Read it", "tool_hints": ["files.read"], "params": {}}
            return "always", [scene.plan(step), read, QUOTES, QUOTES]
        case _:
            return "never", [scene.calls(DELEGATED), read, QUOTES, QUOTES]


@pytest.mark.parametrize("place", ["loop", "answer of a plan", "step left to a model", "agent of an agent"])
def test_what_a_model_quotes_is_told_without_marks(scene: Scene, place: str) -> None:
    (scene.workspace / "note.md").write_text("hello from others", "utf-8")
    mode, replies = script(scene, place)
    model = Quoting(replies=replies, quotes=lambda text: f"It says:\n{text}")
    agent = scene.agent(model=model, planning={"mode": mode}, approval={"plan": "never"})
    request = {"messages": [("user", "Delegate to agents and read note.md")]}
    pieces = [piece for piece, _ in agent.stream(request, scene.config, stream_mode="messages")]
    streamed = [piece.text for piece in pieces if piece.type != "tool"]
    values = agent.get_state(scene.config).values
    for told in ("".join(streamed), values["answer"], values["messages"][-1].text):
        assert told.startswith("It says:\n")
        assert "hello from others" in told
        assert "untrusted-" not in told


def test_the_card_and_the_arguments_of_a_call_hold_no_mark(scene: Scene) -> None:
    (scene.workspace / "note.md").write_text("hello from others", "utf-8")
    model = Quoting(
        replies=[scene.calls(READ), QUOTES, "Written."],
        quotes=lambda text: scene.calls(("work__write", {"name": "w", "text": text})),
    )
    agent = scene.agent(model=model, planning={"mode": "never"})
    asked = scene.ask(agent, "Read note.md and write it down")
    (gate,) = asked["__interrupt__"]
    assert "untrusted-" not in str(gate.value)
    scene.decide(agent, "approve")
    assert scene.done == ['w:{"path":"note.md","text":"hello from others"}']
