"""Any chat model of LangChain, so that its replies are words and calls, and all else is kept for it.

Some put thoughts, signatures and calls into the content, others into extras of the message. A reply comes out
of here as a text with calls; what its own client made of it is kept beside, and it alone gets that back.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from functools import lru_cache
from types import MappingProxyType

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from planwright.domain.errors import ModelOutputInvalid
from planwright.models.json_reply import LONGEST_REPLY
from planwright.models.providers.common_form import REASONING, read_reason
from planwright.models.providers.sent_back import SENT_BACK, hand_over
from planwright.models.replies.held_calls import HeldCalls

_ENDS = ("finish_reason", "finishReason", "stop_reason", "stopReason", "done_reason", "status")
_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "max_tokens": ("max_tokens", "max_output_tokens", "num_predict"),
        "temperature": ("temperature",),
        "reasoning_effort": ("reasoning_effort",),
    }
)
"""Names that classes have for what is asked for beside the messages."""
_OF_CLIENT = ("model_provider", "output_version", "model_name", "container")
_THOUGHTS = ("thinking", "reasoning")
_HELD = ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
"""Where a model of pydantic holds what it has (https://docs.pydantic.dev/latest/api/base_model/)."""
_PLAIN_BLOCKS = frozenset(("text", "tool_use", "tool_call", "function_call", "input_json_delta"))


def plainly_replying(model: BaseChatModel, *, marks: bool = False) -> BaseChatModel:
    """Give back a model, of a class derived from its own, that replies in words and calls.

    It has the fields of the one that was given: what is set there later holds here.

    `marks` says whether its provider is told how far a prompt stays the same, as Anthropic wants to be. Only
    what the class implements itself is derived: LangChain tells from that what a model can do.
    """
    return as_class(model, _derived(type(model), marks))


def as_class(model: BaseChatModel, derived: type[BaseChatModel]) -> BaseChatModel:
    """Give back a model of a class that is derived from its own, with the very fields it has."""
    copied = object.__new__(derived)
    for held in _HELD:
        object.__setattr__(copied, held, getattr(model, held))
    return copied


@lru_cache(maxsize=64)  # pydantic takes 12 ms for a class
def _derived(own: type[BaseChatModel], marks: bool) -> type[BaseChatModel]:
    methods: dict[str, object] = {"_agenerate": _agenerate(own, marks)}
    if own._astream is not BaseChatModel._astream or own._stream is not BaseChatModel._stream:
        methods["_astream"] = _astream(own, marks)
    return type(own.__name__, (own,), {"__module__": own.__module__, **methods})


def _agenerate(own: type[BaseChatModel], marks: bool) -> object:
    async def _agenerate(
        self: BaseChatModel,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: object = None,
        **more: object,
    ) -> ChatResult:
        client, rest = _set_up(self, more)
        result = await own._agenerate(client, _given_back(messages, marks), stop, None, **rest)
        return ChatResult(
            generations=[
                ChatGeneration(
                    message=_plain(each.message, each.generation_info), generation_info=each.generation_info
                )
                for each in result.generations
            ],
            llm_output=result.llm_output,
        )

    return _agenerate


def _astream(own: type[BaseChatModel], marks: bool) -> object:
    async def _astream(
        self: BaseChatModel,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: object = None,
        **more: object,
    ) -> AsyncIterator[ChatGenerationChunk]:
        (client, rest), pieces, size = _set_up(self, more), list[AIMessageChunk](), 0
        calls, beside = HeldCalls(), dict[str, object]()
        async for chunk in own._astream(client, _given_back(messages, marks), stop, None, **rest):
            piece = chunk.message
            beside |= _ends_in(chunk.generation_info)
            if isinstance(piece, AIMessageChunk):
                pieces.append(piece)
                size += len(piece.text) + sum(len(call["args"] or "") for call in piece.tool_call_chunks)
            if size > LONGEST_REPLY:
                raise ModelOutputInvalid(
                    f"the reply has more than {LONGEST_REPLY:,} characters", "answer with fewer words"
                )
            words = _worded(piece)
            calls.take(words)
            yield ChatGenerationChunk(message=words, generation_info=_rest(chunk.generation_info))
        if pieces:
            whole: AIMessageChunk = pieces[0] + pieces[1:] if pieces[1:] else pieces[0]
            hand_over(_own(whole))
            last = AIMessageChunk(content="", tool_call_chunks=calls.whole())
            yield ChatGenerationChunk(message=last, generation_info=_end(whole, beside))

    return _astream


def _set_up(model: BaseChatModel, options: Mapping[str, object]) -> tuple[BaseChatModel, dict[str, object]]:
    """Set what is asked for on a copy of a model, by the names of its class; return it, and all else."""
    fields, update = type(model).model_fields, dict[str, object]()
    for name, names in _NAMES.items():
        own = next((each for each in names if each in fields), None)
        if own and options.get(name) is not None:
            update[own] = options[name]
    if (model.profile or {}).get("temperature") is False or getattr(model, "thinking", None):
        update.pop("temperature", None)
    rest = {name: value for name, value in options.items() if name not in _NAMES}
    return (model.model_copy(update=update) if update else model), rest


def _given_back(messages: list[BaseMessage], marks: bool) -> list[BaseMessage]:
    """Give messages back what this client made of them, and mark how far they stay the same."""
    whole = [
        _restored(message) if SENT_BACK in message.additional_kwargs else message for message in messages
    ]
    if marks and whole and isinstance(whole[0], SystemMessage):
        whole[0] = _marked(whole[0])  # with the tools before it
        if any(isinstance(message, AIMessage) for message in whole):  # a loop goes on from here
            whole[-1] = _marked(whole[-1])
    return whole


def _marked(message: BaseMessage) -> BaseMessage:
    """Mark the end of what may be taken from the cache of the provider."""
    if not isinstance(message.content, str) or not message.content.strip():
        return message
    block = {"type": "text", "text": message.content, "cache_control": {"type": "ephemeral"}}
    return message.model_copy(update={"content": [block]})


def _restored(message: BaseMessage) -> BaseMessage:
    extras = {name: held for name, held in message.additional_kwargs.items() if name != SENT_BACK}
    own = message.additional_kwargs[SENT_BACK]
    return message.model_copy(
        update={
            "content": own.get("content", message.content),
            "additional_kwargs": {**extras, **own.get("additional_kwargs", {})},
            "response_metadata": {**message.response_metadata, **own.get("response_metadata", {})},
        }
    )


def _plain(message: BaseMessage, info: Mapping[str, object] | None) -> BaseMessage:
    """Put a whole reply into words and calls."""
    if not isinstance(message, AIMessage):
        return message
    worded = _worded(message)
    metadata = {**(_rest(message.response_metadata) or {}), **_end(message, info)}
    hand_over(_own(message))
    return worded.model_copy(update={"response_metadata": metadata})


def _worded(message: BaseMessage) -> BaseMessage:
    """Leave of a reply, or of a piece of one, its words, its calls, and what it says of its thinking."""
    if isinstance(message.content, str):
        text, thoughts = message.content, message.additional_kwargs.get(REASONING)
    else:
        text, thoughts = message.text, "".join(map(_thought, message.content))
    update: dict[str, object] = {
        "content": text,
        "additional_kwargs": {REASONING: thoughts} if isinstance(thoughts, str) and thoughts else {},
        "response_metadata": _rest(message.response_metadata) or {},
    }
    if isinstance(message, AIMessageChunk):
        update["chunk_position"] = None  # the last is the one with what is kept
    return message.model_copy(update=update)


def _thought(block: object) -> str:
    """Read what a block of a content says of thinking."""
    if not isinstance(block, Mapping):
        return ""
    summaries = block.get("summary")
    texts = [block.get(name) for name in _THOUGHTS]
    if isinstance(summaries, list):
        texts += [part.get("text") for part in summaries if isinstance(part, Mapping)]
    return "".join(text for text in texts if isinstance(text, str))


def _own(message: AIMessage) -> dict[str, object]:
    """Gather what the client made of a reply, and a text with calls does not say."""
    own: dict[str, object] = {}
    blocks = message.content if isinstance(message.content, list) else []
    kinds = {block.get("type") if isinstance(block, dict) else None for block in blocks}
    if kinds - _PLAIN_BLOCKS and all(isinstance(kind, str) for kind in kinds):  # clients refuse others
        own["content"] = message.content
    extras = {name: held for name, held in message.additional_kwargs.items() if held and _is_json(held)}
    if extras:
        own["additional_kwargs"] = extras
    if not own:
        return {}
    metadata = {
        name: message.response_metadata[name] for name in _OF_CLIENT if message.response_metadata.get(name)
    }
    return {**own, "response_metadata": metadata}


def _is_json(held: object) -> bool:
    try:
        json.dumps(held)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _end(message: AIMessage, info: Mapping[str, object] | None) -> dict[str, str]:
    """Name the reason of the end as OpenAI's API does; a client that says none has ended well.

    Some say it in the message, some beside it.
    """
    reasons = {**_ends_in(info), **_ends_in(message.response_metadata)}
    details = message.response_metadata.get("incomplete_details")
    reason = (details or {}).get("reason") or next(
        (reasons[name] for name in _ENDS if name in reasons), "stop"
    )
    return {"finish_reason": read_reason(reason, bool(message.tool_calls)) or "stop"}


def _ends_in(metadata: Mapping[str, object] | None) -> dict[str, object]:
    """Leave what may be the reason of the end; a status may be HTTP's, too."""
    held = metadata or {}
    return {name: held[name] for name in _ENDS if held.get(name) and type(held[name]) is not int}


def _rest(metadata: Mapping[str, object] | None) -> dict[str, object] | None:
    """Leave the reason of the end out, which is told once."""
    return {name: held for name, held in metadata.items() if name not in _ENDS} if metadata else None
