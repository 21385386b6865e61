"""What a model says without the marks of our fences, in whole replies and while they come in."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import AsyncIterator
from functools import lru_cache
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk

from planwright.models.providers.any_chat import as_class
from planwright.models.providers.common_form import REASONING
from planwright.prompts.fence import unfenced

_WORDS = "content"
_BREAK = r"(?<!<untrusted-[0-9a-f]{12}>)\n"
_BEGUN = re.compile(
    rf"(?:(?:{_BREAK})?</?(?:u(?:n(?:t(?:r(?:u(?:s(?:t(?:e(?:d(?:-[0-9a-f]{{0,12}})?)?)?)?)?)?)?)?)?)?"
    rf"|{_BREAK}|<untrusted-[0-9a-f]{{12}}>)\Z"
)
_LONGEST = 26  # characters of a mark with its line break


class UnfencedStream:
    """Take pieces of a text and give them on, holding back what may be the beginning of a mark."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """Take a piece, and return what is no part of a mark."""
        text = self._held + piece
        begun = _BEGUN.search(text, max(len(text) - _LONGEST, 0))
        cut = begun.start() if begun else len(text)
        self._held = text[cut:]
        return unfenced(text[:cut])

    def rest(self) -> str:
        """Return what was held back, when nothing more comes."""
        held, self._held = self._held, ""
        return unfenced(held)


def unfenced_reply(reply: AIMessage) -> AIMessage:
    """Take our marks off the words, the calls and the shown thoughts of a reply.

    What its provider wants back stays as it is: it was taken past here.
    """
    fields: dict[str, object] = {
        "content": _clean(reply.content),
        "tool_calls": [{**call, "args": _clean(call["args"])} for call in reply.tool_calls],
        "invalid_tool_calls": [{**call, "args": _clean(call["args"])} for call in reply.invalid_tool_calls],
        "additional_kwargs": {
            name: _clean(held) if name == REASONING else held
            for name, held in reply.additional_kwargs.items()
        },
    }
    changed = {name: new for name, new in fields.items() if new != getattr(reply, name)}
    return reply.model_copy(update=changed) if changed else reply


def streaming_unfenced(model: BaseChatModel) -> BaseChatModel:
    """Give back a model, of a class derived from its own, whose stream shows no mark of ours.

    A model that does not stream is the same model.
    """
    own = type(model)
    return model if own._astream is BaseChatModel._astream else as_class(model, _derived(own))


@lru_cache(maxsize=64)  # pydantic takes 12 ms for a class
def _derived(own: type[BaseChatModel]) -> type[BaseChatModel]:
    async def _astream(
        self: BaseChatModel,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **more: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        chunks = _UnfencedChunks()
        async for chunk in own._astream(self, messages, stop, None, **more):
            yield chunks.feed(chunk)
        if (last := chunks.rest()) is not None:
            yield last

    return type(own.__name__, (own,), {"__module__": own.__module__, "_astream": _astream})


class _UnfencedChunks:
    """Give chunks on without our marks; the one that ends the reply with all the rest."""

    def __init__(self) -> None:
        self._streams: defaultdict[str, UnfencedStream] = defaultdict(UnfencedStream)

    def feed(self, chunk: ChatGenerationChunk) -> ChatGenerationChunk:
        message, info = chunk.message, chunk.generation_info
        update: dict[str, object] = {}
        if isinstance(message.content, str) and message.content:
            update[_WORDS] = self._streams[_WORDS].feed(message.content)
        thoughts = message.additional_kwargs.get(REASONING)
        if isinstance(thoughts, str) and thoughts:
            extras = {REASONING: self._streams[REASONING].feed(thoughts)}
            update["additional_kwargs"] = {**message.additional_kwargs, **extras}
        if isinstance(message, AIMessageChunk) and message.tool_call_chunks:
            message = _with_calls(message)
        fed = ChatGenerationChunk(message=message.model_copy(update=update), generation_info=info)
        ends = getattr(message, "chunk_position", None) == "last" or (info or {}).get("finish_reason")
        last = self.rest() if ends else None
        return fed + last if last else fed

    def rest(self) -> ChatGenerationChunk | None:
        """Give on what was held back; None when nothing was."""
        held = {name: text for name, stream in self._streams.items() if (text := stream.rest())}
        if not held:
            return None
        extras = {REASONING: held[REASONING]} if REASONING in held else {}
        return ChatGenerationChunk(
            message=AIMessageChunk(content=held.get(_WORDS, ""), additional_kwargs=extras)
        )


def _with_calls(message: AIMessageChunk) -> AIMessageChunk:
    """Take our marks off calls, whose arguments come in whole."""
    calls = [{**call, "args": _clean(call["args"])} for call in message.tool_call_chunks]
    if calls == message.tool_call_chunks:
        return message
    fields = message.model_dump(exclude={"tool_calls", "invalid_tool_calls", "type"})
    return AIMessageChunk(**{**fields, "tool_call_chunks": calls})


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return unfenced(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {name: _clean(held) for name, held in value.items()}
    return value
