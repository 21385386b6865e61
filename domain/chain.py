"""A chain: calls put in a row under one name, for the run that made it."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from planwright.domain.hashing import sha256

CREATE_CHAIN = "tool.create_chain"
MOST_CALLS = 20
InputType = Literal["string", "integer", "number", "boolean", "array", "object", "any"]


class ChainParameter(BaseModel):
    """One argument of a chain: its JSON type, and what it is for."""

    model_config = ConfigDict(frozen=True)
    type: InputType = "any"
    """JSON type of the argument."""
    description: str = ""
    """What the argument is for, in words."""


class ChainCall(BaseModel):
    """One call of a chain. Its arguments may hold references, which only that chain resolves."""

    model_config = ConfigDict(frozen=True)
    id: str
    """Name of the call within its chain, as references name it."""
    capability: str
    """Name of the capability that is called."""
    arguments: dict[str, JsonValue]
    """Arguments of the call; texts in them may refer to inputs and earlier calls of the chain."""


class Chain(BaseModel):
    """A definition that was checked. Whoever approves a call of it approves exactly this, by its hash."""

    model_config = ConfigDict(frozen=True)
    name: str
    """Name under which a run calls the chain."""
    description: str
    """What the chain does, as models read it."""
    inputs: dict[str, ChainParameter]
    """The arguments of the chain, by name; all of them are required."""
    calls: tuple[ChainCall, ...]
    """The calls, in the order in which they are made."""

    @property
    def needs(self) -> frozenset[str]:
        """The capabilities it calls."""
        return frozenset(call.capability for call in self.calls)

    @cached_property
    def hash(self) -> str:
        """Hash everything that can change what a call of it does, as 64 hex digits."""
        return sha256(self.model_dump(mode="json"))
