"""A chat model whose replies have an end, and whose arguments are parsed once, when they are whole."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI
from openai import BaseModel

from planwright.domain.errors import ModelOutputInvalid
from planwright.models.json_reply import LONGEST_REPLY
from planwright.models.providers.common_form import REASONING
from planwright.models.providers.sent_back import SENT_BACK, hand_over, with_sent_back
from planwright.models.replies.held_calls import HeldCalls
from planwright.security.reply_size import MOST_LISTS, count_lists

AS_THEY_ARE = ("messages", "tools", "response_format")


class BoundedChat(ChatOpenAI):
    """The chat model of an OpenAI-compatible provider. Too long a stream raises ModelOutputInvalid.

    langchain-core parses arguments anew with every piece of them that comes in, and what is no JSON in
    quadratic time (`parse_partial_json`): 16,000 characters took 0.85 s. So pieces pass it as JSON texts, are
    kept back here, and go on as one when the stream has ended.
    """

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **more: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        size, lists, calls = 0, 0, HeldCalls(quoted=True)
        async for chunk in super()._astream(messages, stop, None, **more):
            arguments = calls.take(chunk.message)
            size += len(chunk.message.text) + len(arguments)
            lists += count_lists(arguments.encode("utf-8", "replace"))
            if size > LONGEST_REPLY or lists > MOST_LISTS:
                excess = f"{LONGEST_REPLY:,} characters, or {MOST_LISTS:,} lists and objects as arguments"
                raise ModelOutputInvalid(
                    f"the reply of {self.model_name} has more than {excess}", "answer with fewer words"
                )
            yield await _reported(chunk, run_manager)
        if whole := calls.whole():
            message = AIMessageChunk(content="", tool_call_chunks=whole)
            yield await _reported(ChatGenerationChunk(message=message), run_manager)

    def _get_request_payload(
        self, input_: LanguageModelInput, *, stop: list[str] | None = None, **more: object
    ) -> dict[str, Any]:
        """Spell a request; its messages, tools and form go past the client's walk over their types.

        That walk changes nothing of them, and took half of the CPU of a loop of 30 turns. Where the client
        sees a form, it reads the answer anew with every piece of it that comes in.
        """
        payload: dict[str, Any] = super()._get_request_payload(input_, stop=stop, **more)
        spelled = zip(self._convert_input(input_).to_messages(), payload["messages"], strict=True)
        payload["messages"] = [
            with_sent_back(fields, message.additional_kwargs.get(SENT_BACK)) for message, fields in spelled
        ]
        body = payload.get("extra_body")
        as_it_is = {name: payload.pop(name) for name in AS_THEY_ARE if name in payload}
        return {
            **payload,
            "messages": [],
            "extra_body": {**(body if isinstance(body, dict) else {}), **as_it_is},
        }

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], *place: Any, **more: Any
    ) -> ChatGenerationChunk | None:
        for choice in chunk.get("choices") or ():
            for call in (choice.get("delta") or {}).get("tool_calls") or ():
                function = call.get("function") or {}
                if isinstance(function.get("arguments"), str):
                    function["arguments"] = json.dumps(function["arguments"])
        piece = super()._convert_chunk_to_generation_chunk(chunk, *place, **more)
        if piece is not None:
            for choice in chunk.get("choices") or ():
                delta = choice.get("delta") or {}
                _keep(piece.message, delta.get(REASONING), delta.get(SENT_BACK))
        return piece

    def _create_chat_result(
        self, response: dict[str, object] | BaseModel, generation_info: dict[str, object] | None = None
    ) -> ChatResult:
        result = super()._create_chat_result(response, generation_info)
        for choice, generation in zip(getattr(response, "choices", ()), result.generations, strict=False):
            own = choice.message
            _keep(generation.message, getattr(own, REASONING, None), getattr(own, SENT_BACK, None))
        return result


def _keep(message: BaseMessage, thoughts: object, own: object) -> None:
    """Keep what the client leaves out: thoughts, where langchain-core looks for them, and what goes back."""
    if isinstance(thoughts, str) and thoughts:
        message.additional_kwargs[REASONING] = thoughts
    hand_over(own)


async def _reported(
    chunk: ChatGenerationChunk, run_manager: AsyncCallbackManagerForLLMRun | None
) -> ChatGenerationChunk:
    if run_manager is not None:
        await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
    return chunk
