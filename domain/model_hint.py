"""What a step needs of the model that does it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, model_serializer

ModelCapability = Literal[
    "reasoning", "code", "vision", "function_calling", "streaming", "json_mode", "json_schema"
]
Need = Literal["required", "preferred"]
_PREFIX = "requires_"


class ModelHint(BaseModel):
    """What is required of a model, and what is only preferred; the contexts are in tokens.

    Written as `{"requires_reasoning": true}` (required), `{"requires_vision": "preferred"}`,
    `{"min_context": 100000, "preferred_context": 400000}`, or in short as `"reasoning"` or a list of such.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    requires_reasoning: Need | None = None
    """Whether the model has to reason, or is preferred if it does; None for no wish."""
    requires_code: Need | None = None
    """Whether the model has to be good at code, or is preferred if it is; None for no wish."""
    requires_vision: Need | None = None
    """Whether the model has to understand pictures, or is preferred if so; None for no wish."""
    requires_function_calling: Need | None = None
    """Whether it has to know function calling, or is preferred if so; None for no wish."""
    requires_streaming: Need | None = None
    """Whether it has to stream its reply, or is preferred if so; None for no wish."""
    min_context: int | None = Field(None, ge=1, strict=True)
    """Smallest context that the model may have, in tokens; None for any."""
    preferred_context: int | None = Field(None, ge=1, strict=True)
    """Context that is preferred, in tokens, where a model has it; None for no wish."""

    def unmet(self, need: Need, capabilities: Collection[str], context: int) -> tuple[str, ...]:
        """List in words what is needed and a model with these capabilities and this context has not."""
        wanted = (name.removeprefix(_PREFIX) for name in _FLAGS if getattr(self, name) == need)
        tokens = self.min_context if need == "required" else self.preferred_context
        short = [f"a context of {tokens:,} tokens"] if tokens is not None and context < tokens else []
        return (*(name for name in wanted if name not in capabilities), *short)

    @model_serializer
    def _only_set_fields(self) -> dict[str, JsonValue]:
        return {name: value for name in type(self).model_fields if (value := getattr(self, name)) is not None}


_FLAGS = tuple(name for name in ModelHint.model_fields if name.startswith(_PREFIX))
HINTED = tuple(name.removeprefix(_PREFIX) for name in _FLAGS)
"""The capabilities of a model that a hint can name."""


def _read(value: object) -> object:
    """Read a hint as people and models write one; None when it says nothing. Raises ValueError."""
    if value is None or isinstance(value, ModelHint):
        return value if value != ModelHint() else None
    if isinstance(value, str):
        value = [value]
    if isinstance(value, Sequence):
        value = {str(name): True for name in value}
    if not isinstance(value, Mapping):
        raise ValueError('a model hint is an object like {"requires_reasoning": true}')
    needs: dict[str, object] = {}
    for name, need in _named(value):
        if name in needs:
            raise ValueError(f"`{name}` stands there twice")
        needs[name] = _need(name, need) if name in _FLAGS else need
    return {name: need for name, need in needs.items() if need is not None} or None


def _named(fields: Mapping[object, object]) -> Iterator[tuple[str, object]]:
    """Name what a hint says as the model does. Raises ValueError for what there is not."""
    for key, value in fields.items():
        snake = re.sub(r"(?<=[a-z])(?=[A-Z])|[\s-]+", "_", str(key).strip()).lower()
        name = snake if snake in ModelHint.model_fields else f"{_PREFIX}{snake}"
        if name not in ModelHint.model_fields:
            raise ValueError(f"a model hint knows no {str(key)!r}, only {', '.join(ModelHint.model_fields)}")
        yield name, value


def _need(name: str, value: object) -> object:
    if value is None or value is False:
        return None
    need = "required" if value is True else value.lower() if isinstance(value, str) else value
    if need not in get_args(Need):
        raise ValueError(f'`{name}` is true, "required" or "preferred", not {value!r}')
    return need


HintField = Annotated[ModelHint | None, BeforeValidator(_read)]
