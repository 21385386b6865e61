"""A chain: calls put in a row under one name, for the run that made it (S2 "dynamic tool chains", SPEC 5)."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from planwright.domain.hashing import sha256

CREATE_CHAIN = "tool.create_chain"
MOST_CALLS = 20
InputType = Literal["string", "integer", "number", "boolean", "array", "object", "any"]


class ChainInput(BaseModel):
    """One argument of a chain: its JSON type, and what it is for."""

    model_config = ConfigDict(frozen=True)
    type: InputType = "any"
    description: str = ""


class ChainCall(BaseModel):
    """One call of a chain. Its arguments may hold references, which only that chain resolves."""

    model_config = ConfigDict(frozen=True)
    id: str
    capability: str
    arguments: dict[str, JsonValue]


class Chain(BaseModel):
    """A definition that was checked. Whoever approves a call of it approves exactly this, by its hash."""

    model_config = ConfigDict(frozen=True)
    name: str
    description: str
    inputs: dict[str, ChainInput]
    calls: tuple[ChainCall, ...]

    @property
    def needs(self) -> frozenset[str]:
        """The capabilities it calls."""
        return frozenset(call.capability for call in self.calls)

    @cached_property
    def hash(self) -> str:
        """Hash everything that can change what a call of it does, as 64 hex digits."""
        return sha256(self.model_dump(mode="json"))
