"""What a tool raised is told to the model: at once, or with what a person says of it where nobody knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.exceptions import ModelRateLimitError
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import StructuredTool

from planwright.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

AUTO = {"planning": {"mode": "auto"}}
FULL = "ValueError: the mailbox of ada is full"


class Post:
    """A post office that is out of order."""

    def __init__(self) -> None:
        self.error: Exception = ValueError("the mailbox of ada is full, with token-in-use-8431")
        self.failures = 99
        self.times = 0

    def send(self, to: str) -> str:
        """Send somebody a note."""
        self.times += 1
        if self.times <= self.failures:
            raise self.error
        return f"sent to {to}"

    def tool(self, **metadata: Any) -> StructuredTool:
        """Make a tool of it; one without metadata declares nothing."""
        return StructuredTool.from_function(self.send, name="send", metadata=metadata or None)


def told(model: ScriptedModel) -> ToolMessage:
    """Read what the model was told of its call, the last time that it was asked."""
    return next(message for message in model.prompts[-1] if isinstance(message, ToolMessage))


def sending(scene: Scene, tool: Any, **options: Any) -> tuple[ScriptedModel, dict[str, Any], Any]:
    model = ScriptedModel(replies=[scene.calls(("send", {"to": "ada"})), "I have heard"])
    agent = scene.agent(model=model, tools=[tool], **AUTO, **options)
    return model, scene.ask(agent, "Send ada a note"), agent


@pytest.mark.parametrize(
    ("decision", "said", "status"),
    [
        ("approve", "it did not happen", "completed"),
        ("respond", "it happened (confirmed by", "completed"),
        ("reject", "nobody knows whether it happened", "escalated"),
    ],
)
def test_a_tool_that_declares_nothing_and_raises_is_one_question_and_the_model_hears_both(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, decision: str, said: str, status: str
) -> None:
    monkeypatch.setenv("POST_TOKEN", "token-in-use-8431")
    post = Post()
    model, _, agent = sending(scene, post.tool(), secrets={"env": ["POST_TOKEN"]})
    scene.decide(agent, "approve")
    (gate,) = agent.get_state(scene.config).interrupts
    (effect,) = gate.value["shown"]["effects"]
    assert FULL in effect["why"]
    out = scene.decide(agent, decision, "it is in the box")
    assert (out["status"], out["answer"].splitlines()[0], post.times) == (status, "I have heard", 1)
    assert said in told(model).text
    assert FULL in told(model).text
    assert "token-in-use-8431" not in told(model).text
    assert told(model).name == "send"


def test_the_error_of_a_read_is_told_at_once_and_is_short(scene: Scene) -> None:
    post = Post()
    post.error = ValueError("no " * 5_000)
    model, out, _ = sending(scene, post.tool(mode="read_only"))
    assert (out["status"], post.times) == ("completed", 1)
    assert "ValueError: no no" in told(model).text
    assert len(told(model).text) < 1_300
    assert told(model).name == "send"


def test_a_read_whose_connection_fails_is_tried_again(scene: Scene) -> None:
    post = Post()
    post.error, post.failures = ConnectionResetError("reset"), 2
    model, out, _ = sending(scene, post.tool(mode="read_only"))
    assert (out["status"], post.times) == ("completed", 3)
    assert "sent to ada" in told(model).text


class Busy(ScriptedModel):
    """A model whose provider asks for patience some times."""

    errors: list[Any]
    """What it raises before it replies."""

    def _reply(self, messages: list[Any]) -> str | dict[str, Any]:
        if self.errors:
            raise self.errors.pop(0)
        return super()._reply(messages)


@pytest.mark.parametrize("error", [ModelRateLimitError("slow down"), KeyError("choices")], ids=repr)
def test_a_model_given_in_code_is_asked_again_when_its_error_may_pass(scene: Scene, error: Exception) -> None:
    model = Busy(replies=["here I am"], errors=[error])
    out = scene.ask(scene.agent(model=model, failover={"base_ms": 1}, **AUTO), "hello")
    assert (out["status"], out["answer"]) == ("completed", "here I am")


def test_an_error_that_does_not_pass_pauses_the_run(scene: Scene) -> None:
    model = Busy(replies=["never"], errors=[ModelRateLimitError("slow down")] * 50)
    out = scene.ask(scene.agent(model=model, failover={"base_ms": 1}, **AUTO), "hello")
    assert out["status"] == "paused"
    assert "slow down" in out["answer"]
    assert not any(isinstance(message, AIMessage) and message.text == "never" for message in out["messages"])
