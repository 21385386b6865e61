"""What was heard of a streamed reply: once a reader has seen any of it, nobody else can take over."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, InvalidToolCall
from langchain_core.outputs import ChatGenerationChunk, GenerationChunk
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, get_async_callback_manager_for_config
from langchain_core.tracers._streaming import _StreamingCallbackHandler
from langgraph.constants import TAG_NOSTREAM

from planwright.domain.clock import heard
from planwright.domain.errors import ModelError, ModelInterrupted, ModelOutputInvalid, ModelUnavailable

T = TypeVar("T")
CUT = "its arguments are no whole JSON object: they were cut off, or are misspelled"


class StreamWatch(AsyncCallbackHandler):
    """Keep what has been streamed of one reply; nobody hears one that is not said `aloud`."""

    def __init__(self, *, aloud: bool) -> None:
        self._aloud = aloud
        self._read_along = True
        self.text = ""
        self.begun = False
        self._called: list[AIMessageChunk] = []

    @property
    def spoken(self) -> bool:
        """Whether words of it are said aloud by now."""
        return self._aloud and bool(self.text)

    async def on_llm_new_token(
        self,
        token: str | list[str | dict[str, Any]],
        *,
        chunk: GenerationChunk | ChatGenerationChunk | None = None,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        """Hear of a piece of the reply; the first one a server sends is often empty."""
        heard()
        message = getattr(chunk, "message", None)
        called = isinstance(message, AIMessageChunk) and bool(message.tool_call_chunks)
        if isinstance(message, AIMessageChunk) and called:
            self._called.append(AIMessageChunk(content="", tool_call_chunks=message.tool_call_chunks))
        self.text += token if isinstance(token, str) else ""
        seen = self._aloud and self._read_along
        self.begun = seen and (self.begun or bool(token) or called)

    def config(self, metadata: Mapping[str, Any] | None) -> RunnableConfig:
        """Make a config that listens, beside whoever listens already."""
        tags = [] if self._aloud else [TAG_NOSTREAM]
        base = ensure_config({"metadata": dict(metadata or {}), "tags": tags})
        listeners = get_async_callback_manager_for_config(base).copy()
        self._read_along = any(isinstance(other, _StreamingCallbackHandler) for other in listeners.handlers)
        listeners.add_handler(self)
        return {**base, "callbacks": listeners}

    def failure(self, error: ModelError) -> ModelError:
        """Say what a failure amounts to: once the reader has seen words, it is no longer another's turn."""
        error.worked = error.worked or bool(self.text or self._called)
        if not (self.begun and isinstance(error, ModelUnavailable | ModelOutputInvalid)):
            return error
        interrupted = ModelInterrupted(error.cause, error.next_step, self.text)
        interrupted.used = error.used
        return interrupted

    def whole(self, reply: AIMessage) -> AIMessage:
        """Take a call whose arguments broke off for none that can be made.

        Of a stream langchain-core closes half a JSON by itself: `{"text": "Dear` becomes a whole call
        (`parse_partial_json` in `AIMessageChunk.init_tool_calls`, 1.7.2).
        """
        if not self._called:
            return reply
        calls_heard: AIMessageChunk = self._called[0] + self._called[1:]
        cut = [chunk for chunk in calls_heard.tool_call_chunks if not _is_object(chunk["args"])]
        closed = [
            call for chunk in cut for call in AIMessageChunk(content="", tool_call_chunks=[chunk]).tool_calls
        ]
        if not closed:
            return reply
        calls = [call for call in reply.tool_calls if call not in closed]
        wrong = [
            InvalidToolCall(
                type="invalid_tool_call", name=chunk["name"], args=chunk["args"], id=chunk["id"], error=CUT
            )
            for chunk in cut
        ]
        return reply.model_copy(update={"tool_calls": calls, "invalid_tool_calls": wrong})


class StreamedReply(StreamWatch):
    """Have a reply streamed, whether anybody reads along or not: only so can it be told from silence.

    LangChain streams where a handler has these two methods (`BaseChatModel._should_stream`, 1.7).
    """

    def tap_output_aiter(self, run_id: UUID, output: T) -> T:
        """Hand on what is streamed."""
        return output

    def tap_output_iter(self, run_id: UUID, output: T) -> T:
        """Hand on what is streamed."""
        return output


def _is_object(text: str | None) -> bool:
    """Say whether the arguments of a call came in whole; a call without any may leave them out."""
    try:
        return not text or isinstance(json.loads(text, strict=False), dict)
    except ValueError:
        return False
