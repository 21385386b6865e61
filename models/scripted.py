"""A chat model that replies from a list, in order: for tests, examples and dry demonstrations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from pydantic import Field, PrivateAttr


class ScriptedModel(BaseChatModel):
    """Reply with the next of `replies`; the last one is repeated. `prompts` keeps what was sent.

    A reply is a text, or the fields of an AIMessage: `{"content": "", "tool_calls": […]}`. What is said
    when a call has failed, and another is asked for, is in `alternatives`, when an agent has not done a step
    in `approaches`, and what is said to be worth remembering in `memories`; there is none after the last.
    """

    replies: list[str | dict[str, Any]] = Field(min_length=1)
    """Replies in order; the last one is repeated."""
    alternatives: list[str] = Field(default_factory=list)
    """Replies to be used when a call has failed and another is asked for, in order."""
    approaches: list[str] = Field(default_factory=list)
    """Replies to be used when an agent has not done a step, in order."""
    memories: list[str] = Field(default_factory=list)
    """Replies to be used when it is asked what is worth remembering, in order."""
    model_name: str = "scripted"
    """Name that runs record of the model."""
    _prompts: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    """What was sent, call by call."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def prompts(self) -> list[list[BaseMessage]]:
        """What was sent to the model, call by call."""
        return self._prompts

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        """Take tools along with every call; which of them are called is in the script."""
        return self.bind(tools=tools, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        reply = self._reply(messages)
        usage = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
        message = AIMessage(
            **({"content": reply} if isinstance(reply, str) else {"content": "", **reply}),
            usage_metadata=usage,
            response_metadata={"model_name": self.model_name},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _reply(self, messages: list[BaseMessage]) -> str | dict[str, Any]:
        if messages[0].text.startswith("Role: alternative"):
            return self.alternatives.pop(0) if self.alternatives else "NO_ALTERNATIVE"
        if messages[0].text.startswith("Role: approach"):
            return self.approaches.pop(0) if self.approaches else "Do it with the tools that you have."
        if messages[0].text.startswith("Role: consolidate"):
            return self.memories.pop(0) if self.memories else '{"memories": []}'
        self._prompts.append(messages)
        return self.replies[min(len(self._prompts), len(self.replies)) - 1]

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        whole = self._generate(messages, stop, run_manager, **kwargs).generations[0].message
        if not isinstance(whole, AIMessage):
            raise TypeError(f"a model replies with an AIMessage, not with a {type(whole).__name__}")
        chunk = AIMessageChunk(
            content=whole.content,
            tool_calls=whole.tool_calls,
            invalid_tool_calls=whole.invalid_tool_calls,
            usage_metadata=whole.usage_metadata,
            response_metadata=whole.response_metadata,
            chunk_position="last",
        )
        yield ChatGenerationChunk(message=chunk)
