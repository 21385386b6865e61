"""Whether a reader has seen any of a streamed reply: from then on nobody else can take over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk, GenerationChunk
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, get_async_callback_manager_for_config
from langgraph.constants import TAG_NOSTREAM

from planwright.graph.errors import ModelError, ModelInterrupted, ModelUnavailable


class FirstWords(AsyncCallbackHandler):
    """Keep what has been streamed of one reply; nobody hears one that is not said `aloud`."""

    def __init__(self, *, aloud: bool) -> None:
        self._aloud = aloud
        self.text = ""
        self.begun = False

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
        message = getattr(chunk, "message", None)
        called = isinstance(message, AIMessageChunk) and bool(message.tool_call_chunks)
        self.text += token if isinstance(token, str) else ""
        self.begun = self._aloud and (self.begun or bool(token) or called)

    def config(self, metadata: Mapping[str, Any] | None) -> RunnableConfig:
        """Make a config that listens, beside whoever listens already."""
        tags = [] if self._aloud else [TAG_NOSTREAM]
        given = ensure_config({"metadata": dict(metadata or {}), "tags": tags})
        listeners = get_async_callback_manager_for_config(given).copy()
        listeners.add_handler(self)
        return {**given, "callbacks": listeners}

    def failure(self, error: ModelError) -> ModelError:
        """Say what a failure amounts to: once the reader has seen words, it is no longer another's turn."""
        if not (self.begun and isinstance(error, ModelUnavailable)):
            return error
        return ModelInterrupted(error.cause, error.next_step, self.text)
