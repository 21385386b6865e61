"""What a person says with an approval: that it holds for the same call again, and how alike it has to be."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue, model_validator

from planwright.domain.hashing import canonical_json

ScopeDuration = Literal["run", "session", "always"]
ToolMay = Literal["reads", "asks", "asks_once", "always_asks"]
"""What a tool may do: only read; change something, asked each time, or once a run; anything."""

TOOL_WORDS: dict[ToolMay, str] = {
    "reads": "it only reads, and tells nobody outside what it is given",
    "asks": "it changes something: ask each time",
    "asks_once": "it changes something: ask once a run",
    "always_asks": "it may do anything: always ask",
}
"""The same, as a person reads and says it."""


class ArgumentRule(BaseModel):
    """What one argument may be: exactly a value, a text that fits a glob, or anything."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    equals: JsonValue = None
    """Value that the argument has to have."""
    glob: str | None = None
    """Pattern that the text has to fit; None for no pattern."""
    any: Literal[True] | None = None
    """True where it may be anything; None else."""

    @model_validator(mode="after")
    def _one_form(self) -> ArgumentRule:
        if len(self.model_fields_set) != 1:
            raise ValueError("say one of equals, glob and any")
        return self

    @property
    def exact(self) -> bool:
        """Whether only one value fits."""
        return self.any is None and self.glob is None

    def fits(self, value: JsonValue) -> bool:
        """Say whether an argument is allowed."""
        if self.any:
            return True
        if self.glob is not None:
            return isinstance(value, str) and fnmatchcase(value, self.glob)
        return canonical_json(value) == canonical_json(self.equals)


class ApprovalScope(BaseModel):
    """What an approval holds for beyond this once: the same call again, or all calls of a tool."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    scope: ScopeDuration | None = None
    """How long it holds for the call: for the run, the thread, or always; None for this once."""
    args: dict[str, ArgumentRule] = {}
    """Which arguments may differ, and how, by name."""
    tools: dict[str, ToolMay] = {}
    """What tools may do from now on that say nothing about it, by name."""
    unseen: bool = False
    """Whether what a plan does not know yet may go out without being shown once it is known."""

    @model_validator(mode="after")
    def _says_something(self) -> ApprovalScope:
        if self.scope is None and (self.args or not (self.tools or self.unseen)):
            raise ValueError("say a scope, what tools may do, or unseen")
        return self


def free_in(call: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """Name the arguments that the card of a call shows as free, when it is approved for its run."""
    width = call.get("width")
    free = width.get("free") if isinstance(width, dict) else None
    return tuple(map(str, free)) if isinstance(free, list) else ()
