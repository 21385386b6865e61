"""Any chat model of LangChain: a reply is words and calls, what its client made of it comes back to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field

from planwright.domain.errors import ModelOutputInvalid
from planwright.models.json_reply import LONGEST_REPLY
from planwright.models.providers.any_chat import plainly_replying
from planwright.models.providers.sent_back import SENT_BACK, Receiver
from planwright.models.scripted import ScriptedModel

THINKING = {"type": "thinking", "thinking": "Let me see.", "signature": "sig"}
CALL = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
BLOCKS: list[dict[str, Any]] = [THINKING, {"type": "text", "text": "I look."}, CALL]
MARK = {"type": "ephemeral"}


class Blocks(BaseChatModel):
    """A model that replies as Anthropic's client does, whole or in pieces."""

    pieces: list[AIMessageChunk]
    """The pieces of its reply."""
    max_tokens: int = 1
    """Most tokens of a reply."""
    temperature: float | None = None
    """Temperature that is asked for."""
    thinking: dict[str, Any] | None = None
    """How it thinks."""
    heard: list[Any] = Field(default_factory=list)
    """What it was asked, and with what."""

    @property
    def _llm_type(self) -> str:
        return "blocks"

    def _generate(self, messages: list[BaseMessage], *_: Any, **more: Any) -> ChatResult:
        self.heard.append((messages, self.max_tokens, self.temperature, more))
        whole = self.pieces[0] + self.pieces[1:] if self.pieces[1:] else self.pieces[0]
        fields = {name: getattr(whole, name) for name in ("content", "tool_calls", "additional_kwargs")}
        message = AIMessage(**fields, response_metadata=whole.response_metadata)
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _astream(
        self, messages: list[BaseMessage], *_: Any, **more: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        self.heard.append((messages, self.max_tokens, self.temperature, more))
        for piece in self.pieces:
            yield ChatGenerationChunk(message=piece)


def model(**more: Any) -> Blocks:
    """A model that thinks, says a word, and calls."""
    blocks: list[Any] = [block | {"index": at} for at, block in enumerate(BLOCKS)]
    chunk: Any = {"type": "tool_call_chunk", "name": "f", "args": "{}", "id": "c1", "index": 2}
    pieces = [
        AIMessageChunk(content=blocks[:1]),
        AIMessageChunk(content=blocks[1:2]),
        AIMessageChunk(content=blocks[2:], tool_call_chunks=[chunk]),
        AIMessageChunk(
            content=[], response_metadata={"stop_reason": "tool_use", "model_provider": "anthropic"}
        ),
    ]
    return Blocks(pieces=pieces, **more)


async def asked(of: BaseChatModel, streams: bool, *messages: BaseMessage, **options: Any) -> AIMessage:
    """Ask, and take the whole reply."""
    given = list(messages) or [HumanMessage("Hello")]
    with Receiver() as received:
        if not streams:
            return received.complete(await of.ainvoke(given, **options))
        pieces = [piece async for piece in of.astream(given, **options)]
    assert all(isinstance(piece.content, str) for piece in pieces)
    assert not any(SENT_BACK in piece.additional_kwargs for piece in pieces)
    whole: AIMessageChunk = pieces[0] + pieces[1:]
    return received.complete(whole)


@pytest.mark.parametrize("streams", [False, True])
async def test_a_reply_is_words_and_calls_and_its_blocks_are_kept(streams: bool) -> None:
    reply = await asked(plainly_replying(model()), streams)
    assert reply.content == "I look."
    assert [(call["name"], call["id"]) for call in reply.tool_calls] == [("f", "c1")]
    assert reply.response_metadata["finish_reason"] == "tool_calls"
    assert reply.additional_kwargs["reasoning_content"] == "Let me see."
    own = reply.additional_kwargs[SENT_BACK]
    assert [{k: v for k, v in block.items() if k != "index"} for block in own["content"]] == BLOCKS
    assert own["response_metadata"] == {"model_provider": "anthropic"}


@pytest.mark.parametrize("streams", [False, True])
async def test_its_client_gets_back_what_it_made_and_nobody_changes_it(streams: bool) -> None:
    own = {"content": BLOCKS, "additional_kwargs": {"x": 1}, "response_metadata": {"model_provider": "a"}}
    earlier = AIMessage("I look.", additional_kwargs={SENT_BACK: own})
    blocks = model()
    await asked(plainly_replying(blocks), streams, HumanMessage("Hello"), earlier)
    (_, sent), *_ = blocks.heard[0]
    assert (sent.content, sent.additional_kwargs) == (BLOCKS, {"x": 1})
    assert sent.response_metadata == {"model_provider": "a"}
    assert earlier.content == "I look."


@pytest.mark.parametrize(
    ("metadata", "end"),
    [
        ({"stop_reason": "end_turn"}, "stop"),
        ({"stop_reason": "max_tokens"}, "length"),
        ({"stop_reason": "refusal"}, "content_filter"),
        ({"finish_reason": "STOP"}, "stop"),
        ({"finish_reason": "MAX_TOKENS"}, "length"),
        ({"done_reason": "length"}, "length"),
        ({"stopReason": "tool_use"}, "tool_calls"),
        ({"stopReason": "malformed_tool_use"}, "malformed_tool_use"),
        ({"status": 200}, "stop"),
        ({"status": "completed"}, "stop"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ({}, "stop"),
    ],
)
@pytest.mark.parametrize("streams", [False, True])
async def test_the_reason_of_the_end_has_one_name(metadata: dict[str, Any], end: str, streams: bool) -> None:
    pieces = [AIMessageChunk(content="Four."), AIMessageChunk(content="", response_metadata=metadata)]
    reply = await asked(plainly_replying(Blocks(pieces=pieces)), streams)
    assert reply.response_metadata["finish_reason"] == end
    assert SENT_BACK not in reply.additional_kwargs


async def test_options_go_by_the_names_of_the_class() -> None:
    thinking, other = model(thinking={"type": "enabled"}), model()
    await asked(
        plainly_replying(thinking), False, max_tokens=9, temperature=0, reasoning_effort="low", stop_at=3
    )
    await asked(plainly_replying(other), True, temperature=0)
    assert [own.heard[0][1:] for own in (thinking, other)] == [(9, None, {"stop_at": 3}), (1, 0, {})]


async def test_how_far_a_prompt_stays_the_same_is_marked_for_who_wants_that() -> None:
    blocks = model()
    prompt = [SystemMessage("Be short."), HumanMessage("Hello")]
    await asked(plainly_replying(blocks, marks=True), False, *prompt)
    await asked(plainly_replying(blocks, marks=True), False, *prompt, AIMessage("Hi."), HumanMessage("And?"))
    await asked(plainly_replying(blocks), False, *prompt)
    first, second, unmarked = (messages for messages, *_ in blocks.heard)
    assert first[0].content == [{"type": "text", "text": "Be short.", "cache_control": MARK}]
    assert [message.content for message in first[1:]] == ["Hello"]
    assert second[-1].content == [{"type": "text", "text": "And?", "cache_control": MARK}]
    assert [message.content for message in second[1:-1]] == ["Hello", "Hi."]
    assert unmarked == prompt


@pytest.mark.parametrize("number", [0, None])
async def test_calls_are_told_apart_whatever_their_pieces_repeat(number: int | None) -> None:
    def piece(name: str, args: str, id_: str) -> AIMessageChunk:
        chunk = tool_call_chunk(name=name, args=args, id=id_, index=number)
        return AIMessageChunk(content="", tool_call_chunks=[chunk])

    pieces = [piece("f", '{"x": ', "a"), piece("f", "1}", "a"), piece("f", '{"x": 2}', "b")]
    reply = await asked(plainly_replying(Blocks(pieces=pieces)), True)
    calls = [(call["id"], call["name"], call["args"]) for call in reply.tool_calls]
    assert calls == [("a", "f", {"x": 1}), ("b", "f", {"x": 2})]


async def test_a_stream_has_an_end() -> None:
    endless = Blocks(pieces=[AIMessageChunk(content="x" * LONGEST_REPLY), AIMessageChunk(content="x")])
    with pytest.raises(ModelOutputInvalid, match="more than 200,000 characters"):
        await asked(plainly_replying(endless), True)


def test_it_can_do_what_the_model_can_and_nothing_else() -> None:
    for own in (model(), ScriptedModel(replies=["a"])):
        copied = plainly_replying(own)
        assert isinstance(copied, type(own))
        assert (type(copied).__name__, type(copied).bind_tools) == (type(own).__name__, type(own).bind_tools)
