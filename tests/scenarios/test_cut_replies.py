"""No call of a reply that does not end as a whole one is made, whoever sent it, wherever it was asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from planwright.graph.agent import Agent
from planwright.models.scripted import ScriptedModel
from tests.wire.scripted_server import Reply, ScriptedServer, calls, says

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

pytestmark = [pytest.mark.enable_socket, pytest.mark.long]

WRITE = {"name": "w", "text": "Dear all, the meeting is on"}
STEP = {"id": "s1", "description": "Write", "tool_hints": ["work.write"], "params": {}}
PLAN = json.dumps({"goal": "w", "steps": [STEP]})
PLACES = {"loop": "never", "step": "always"}
CUT = (
    *("length", "max_tokens", "MAX_TOKENS", "model_length", "incomplete", "not_finished"),
    *("content_filter", "SAFETY", "RECITATION", "refusal", "guardrail_intervened"),
    *("insufficient_system_resource", "abort", "cancelled", "timeout", "whatever"),
)
WHOLE = ("stop", "tool_calls", "function_call", "end_turn", "tool_use", "eos", "eos_token", "STOP", "", None)
IN_CODE: tuple[dict[str, Any], ...] = (
    {"finish_reason": "length"},
    {"finish_reason": "MAX_TOKENS"},
    {"finish_reason": "SAFETY"},
    {"finish_reason": "RECITATION"},
    {"finishReason": "MAX_TOKENS"},
    {"stop_reason": "max_tokens"},
    {"stop_reason": "refusal"},
    {"stop_reason": "pause_turn"},
    {"stop_reason": "model_context_window_exceeded"},
    {"stopReason": "max_tokens"},
    {"stopReason": "guardrail_intervened"},
    {"stopReason": "malformed_tool_use"},
    {"done_reason": "length"},
    {"status": "failed"},
    {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
)
WHOLE_IN_CODE: tuple[dict[str, Any], ...] = (
    *({}, {"finish_reason": "STOP"}, {"stop_reason": "tool_use"}, {"stopReason": "tool_use"}),
    *({"done_reason": "stop"}, {"status": "completed"}, {"status": 200}),
)


def ended(finish: str | None, streamed: bool) -> Reply:
    """Call the tool in a reply that ends so."""
    content = json.loads(calls("work__write", WRITE).body)
    content["choices"][0]["finish_reason"] = finish
    return Reply(body=json.dumps(content), streamed=streamed)


def over_the_wire(scene: Scene, server: ScriptedServer, place: str, streamed: bool) -> Agent:
    """Build an agent whose model is the server's."""
    provider: dict[str, Any] = {"base_url": server.base_url, "api_key": "k", "model": "m"}
    abilities = {} if streamed else {"capabilities": ["function_calling"]}
    return scene.agent(
        model=None,
        providers={"local": provider | abilities},
        planning={"mode": PLACES[place]},
        approval={"plan": "never"},
    )


def written(scene: Scene, place: str, streamed: bool, finish: str | None) -> list[str]:
    """Play a run over the wire whose first call is in a reply that ends so."""
    rest = [says("It was cut.")] * 3
    first = ended(finish, streamed)
    replies = [first, *rest] if place == "loop" else [says(PLAN), first, *rest]
    with ScriptedServer(replies) as server:
        scene.ask(over_the_wire(scene, server, place, streamed), "Write the mail")
    return scene.done


@pytest.mark.sampled(8)
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("finish", CUT)
def test_nothing_of_a_cut_reply_is_made(scene: Scene, finish: str, place: str, streamed: bool) -> None:
    assert written(scene, place, streamed, finish) == []


@pytest.mark.sampled(4)
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("finish", WHOLE)
def test_the_call_of_a_whole_reply_is_made(
    scene: Scene, finish: str | None, place: str, streamed: bool
) -> None:
    assert written(scene, place, streamed, finish) == ["w:Dear all, the meeting is on"]


class Ended(ScriptedModel):
    """A model in code that says of its calls how the reply ended, in its message or beside it."""

    ends: Mapping[str, Any]
    """What it says."""
    beside: bool
    """Whether that stands beside the message."""

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        result = super()._generate(messages, stop, run_manager, **kwargs)
        (reply,) = result.generations
        if isinstance(reply.message, AIMessage) and reply.message.tool_calls:
            if self.beside:
                reply.generation_info = dict(self.ends)
            else:
                reply.message.response_metadata = dict(self.ends)
        return result

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in super()._stream(messages, stop, run_manager, **kwargs):
            beside = self.beside and isinstance(chunk.message, AIMessage) and chunk.message.tool_calls
            info = dict(self.ends) if beside else None
            yield ChatGenerationChunk(message=chunk.message, generation_info=info)


def in_code(scene: Scene, place: str, ends: Mapping[str, Any], beside: bool) -> list[str]:
    """Play a run whose model is given in code."""
    first = [] if place == "loop" else [PLAN]
    replies = [*first, scene.calls(("work__write", WRITE)), *["It was cut."] * 3]
    model = Ended(replies=replies, ends=ends, beside=beside)
    scene.ask(scene.agent(model=model, planning={"mode": PLACES[place]}, approval={"plan": "never"}), "Write")
    return scene.done


@pytest.mark.sampled(6)
@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("ends", IN_CODE, ids=str)
def test_nothing_of_a_cut_reply_of_a_model_in_code_is_made(
    scene: Scene, ends: dict[str, Any], place: str, beside: bool
) -> None:
    if beside and "incomplete_details" in ends:
        pytest.skip("only a message has them")
    assert in_code(scene, place, ends, beside) == []


@pytest.mark.parametrize("ends", WHOLE_IN_CODE, ids=str)
def test_the_call_of_a_whole_reply_of_a_model_in_code_is_made(scene: Scene, ends: dict[str, Any]) -> None:
    assert in_code(scene, "loop", ends, beside=False) == ["w:Dear all, the meeting is on"]


@pytest.mark.parametrize("streamed", [False, True])
def test_langchains_own_client_in_code_is_heard(scene: Scene, streamed: bool) -> None:
    with ScriptedServer([replace(ended("length", streamed)), says("It was cut.")]) as server:
        model: Callable[..., BaseChatModel] = ChatOpenAI
        own = model(
            base_url=server.base_url, api_key=SecretStr("k"), model="m", disable_streaming=not streamed
        )
        scene.ask(scene.agent(model=own, planning={"mode": "never"}), "Write")
        assert scene.done == []
        (told,) = (m["content"] for m in server.requests[-1].body["messages"] if m["role"] == "tool")
    assert told.startswith("not made: the reply was cut off at the token limit")


def test_the_model_is_told_by_which_end(scene: Scene) -> None:
    replies = [ended("insufficient_system_resource", streamed=True), says("It was cut.")]
    with ScriptedServer(replies) as server:
        scene.ask(over_the_wire(scene, server, "loop", streamed=True), "Write")
        (told,) = (m["content"] for m in server.requests[-1].body["messages"] if m["role"] == "tool")
    assert "`insufficient_system_resource`" in told
