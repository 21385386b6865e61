"""A chat model that neither hears nor says a secret, in whole replies, in streams and in its errors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias, TypeVar, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from planwright.security.redaction.chunks import RedactedChunks
from planwright.security.redaction.key_forms import without_keys, without_keys_in
from planwright.security.redaction.redactor import Redactor

M = TypeVar("M", bound=BaseMessage)
RedactorOf: TypeAlias = Callable[[BaseChatModel], Redactor]
_CONTENT_FIELDS = ("content", "tool_calls", "invalid_tool_calls", "additional_kwargs", "response_metadata")


def redacting(model: BaseChatModel, redactor: Redactor) -> BaseChatModel:
    """Give back a copy of a model, of a class derived from its own, that goes through a redactor.

    Only what the class implements itself is derived: LangChain tells from that what a model can do.
    Without any secret it is the model itself.
    """
    if not redactor:
        return model
    copied, derived = model.model_copy(), _derived(type(model))
    private = cast("Mapping[object, object]", copied.__pydantic_private__ or {})
    object.__setattr__(copied, "__pydantic_private__", {**private, derived: redactor})
    copied.__class__ = derived
    return copied


@lru_cache(maxsize=64)  # pydantic takes 12 ms for a class
def _derived(own: type[BaseChatModel]) -> type[BaseChatModel]:
    """Derive the class of models that hold their redactor by it, beside what is private to them."""

    def redactor_of(model: BaseChatModel) -> Redactor:
        return cast("Mapping[object, Redactor]", model.__pydantic_private__)[derived]

    methods = {
        name: derive(own, redactor_of)
        for name, derive in _DERIVATIONS.items()
        if getattr(own, name) is not getattr(BaseChatModel, name)
    }
    derived = type(own.__name__, (own,), {"__module__": own.__module__, **methods})
    return derived


def redacted_messages(messages: Sequence[M], redactor: Redactor) -> list[M]:
    """Put the secrets in messages out of sight; messages without any stay the same objects."""
    return [_clean(message, redactor) for message in messages]


def messages_without_keys(messages: Sequence[M]) -> list[M]:
    """Put keys that are known by their form out of the words and calls of messages; what a provider
    wants back stays as it is.
    """
    return [_without_keys(message) for message in messages]


def _without_keys(message: M) -> M:
    fields: dict[str, object] = {"content": _readable(message.content)}
    if isinstance(message, AIMessage) and message.tool_calls:
        fields["tool_calls"] = [
            {**call, "args": without_keys_in(call["args"])} for call in message.tool_calls
        ]
    changed = {name: new for name, new in fields.items() if new != getattr(message, name)}
    return message.model_copy(update=changed) if changed else message


def _readable(content: str | list[str | dict[str, object]]) -> object:
    """Put keys out of the texts of a message; blocks of other kinds stay as they are."""
    if isinstance(content, str):
        return without_keys(content)
    return [
        without_keys(block)
        if isinstance(block, str)
        else {**block, "text": without_keys(str(block["text"]))}
        if block.get("type") == "text"
        else block
        for block in content
    ]


def _clean(message: M, redactor: Redactor) -> M:
    fields = {name: getattr(message, name) for name in _CONTENT_FIELDS if getattr(message, name, None)}
    changed = {name: new for name, old in fields.items() if (new := redactor.value(old)) != old}
    return message.model_copy(update=changed) if changed else message


def _result(result: ChatResult, redactor: Redactor) -> ChatResult:
    generations = [
        ChatGeneration(
            message=_clean(generation.message, redactor),
            generation_info=redactor.value(generation.generation_info),
        )
        for generation in result.generations
    ]
    return ChatResult(generations=generations, llm_output=redactor.value(result.llm_output))


# A model does not get the run manager: with it some show their tokens before anybody has seen them here.


def _generate(own: type[BaseChatModel], redactor_of: RedactorOf) -> Callable[..., object]:
    def _generate(
        self: BaseChatModel,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: object = None,
        **more: object,
    ) -> ChatResult:
        redactor = redactor_of(self)
        with redactor.errors():
            return _result(
                own._generate(self, redacted_messages(messages, redactor), stop, None, **more), redactor
            )

    return _generate


def _agenerate(own: type[BaseChatModel], redactor_of: RedactorOf) -> Callable[..., object]:
    async def _agenerate(
        self: BaseChatModel,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: object = None,
        **more: object,
    ) -> ChatResult:
        redactor = redactor_of(self)
        with redactor.errors():
            result = await own._agenerate(self, redacted_messages(messages, redactor), stop, None, **more)
            return _result(result, redactor)

    return _agenerate


def _stream(own: type[BaseChatModel], redactor_of: RedactorOf) -> Callable[..., object]:
    def _stream(
        self: BaseChatModel,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: object = None,
        **more: object,
    ) -> Iterator[ChatGenerationChunk]:
        redactor = redactor_of(self)
        chunks = RedactedChunks(redactor)
        with redactor.errors():
            for chunk in own._stream(self, redacted_messages(messages, redactor), stop, None, **more):
                yield chunks.feed(chunk)
            if last := chunks.rest():
                yield last

    return _stream


def _astream(own: type[BaseChatModel], redactor_of: RedactorOf) -> Callable[..., object]:
    async def _astream(
        self: BaseChatModel,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: object = None,
        **more: object,
    ) -> AsyncIterator[ChatGenerationChunk]:
        redactor = redactor_of(self)
        chunks = RedactedChunks(redactor)
        with redactor.errors():
            async for chunk in own._astream(self, redacted_messages(messages, redactor), stop, None, **more):
                yield chunks.feed(chunk)
            if last := chunks.rest():
                yield last

    return _astream


_DERIVATIONS: dict[str, Callable[[type[BaseChatModel], RedactorOf], Callable[..., object]]] = {
    "_generate": _generate,
    "_agenerate": _agenerate,
    "_stream": _stream,
    "_astream": _astream,
}
