"""What may be shown of a reply in words while it comes in: neither the calls in it nor its thoughts."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk

from planwright.models.replies.tool_bridge import first_block, without_thoughts

_MAY_BE_TAG = re.compile(r"<\s*(?:/\s*)?\w*")
_SELDOM = 50  # what is shown is behind by so small a part of a long reply


def visible_part(text: str, *, ended: bool) -> str:
    """Cut a reply where its first call begins, and, while it goes on, where one may be beginning.

    What is shown of a text is the beginning of what is shown of any longer one.
    """
    words = without_thoughts(text)
    at = first_block(words)
    if at is None and not ended:
        last = words.rfind("<")
        at = last if last >= 0 and _MAY_BE_TAG.fullmatch(words, last) else len(words)
    return words[:at].strip()


class BridgeStream:
    """Keep the whole of a reply beside what is shown of it."""

    def __init__(self) -> None:
        self._text: str | None = None

    def of(self, model: BaseChatModel) -> BaseChatModel:
        """Give back a copy of a model, of a class derived from its own, that streams only what may be shown.

        A model that does not stream is the same model.
        """
        own, bridge = type(model), self
        if own._astream is BaseChatModel._astream:
            return model

        async def _astream(
            self: BaseChatModel,
            messages: list[BaseMessage],
            stop: list[str] | None = None,
            run_manager: Any = None,
            **more: Any,
        ) -> AsyncIterator[ChatGenerationChunk]:
            text, visible, looked_at = "", "", 0
            async for chunk in own._astream(self, messages, stop, None, **more):
                text += chunk.message.text
                now = visible
                if len(text) >= looked_at + looked_at // _SELDOM:  # all of it is read each time
                    now, looked_at = visible_part(text, ended=False), len(text)
                message = chunk.message.model_copy(update={"content": now[len(visible) :]})
                visible = now
                yield ChatGenerationChunk(message=message, generation_info=chunk.generation_info)
            bridge._text = text
            yield ChatGenerationChunk(
                message=AIMessageChunk(content=visible_part(text, ended=True)[len(visible) :])
            )

        copied = model.model_copy()
        copied.__class__ = type(own.__name__, (own,), {"__module__": own.__module__, "_astream": _astream})
        return copied

    def whole(self, reply: AIMessage) -> AIMessage:
        """Put back what was not shown of a streamed reply."""
        return reply if self._text is None else reply.model_copy(update={"content": self._text})
