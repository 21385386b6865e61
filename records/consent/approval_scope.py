"""What a person says with an approval: that it holds for the same call again, and how alike it has to be."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from planwright.domain.hashing import canonical_json, json_text

ScopeDuration = Literal["run", "session", "always"]
ToolMay = Literal["reads", "asks", "asks_once", "always_asks"]
"""What a tool may do: only read; change something, asked each time, or once a run; anything."""

_PORTS = {"http": 80, "https": 443}
TOOL_WORDS: dict[ToolMay, str] = {
    "reads": "it only reads, and tells nobody outside what it is given",
    "asks": "it changes something: ask each time",
    "asks_once": "it changes something: ask once a run",
    "always_asks": "it may do anything: always ask",
}
"""The same, as a person reads and says it."""


class ArgumentRule(BaseModel):
    """What one argument may be: exactly a value, what fits a glob, a folder or an origin, or anything."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    equals: JsonValue = None
    """Value that the argument has to have."""
    glob: str | None = None
    """Pattern that the text has to fit; None for no pattern."""
    any: Literal[True] | None = None
    """True where it may be anything; None else."""
    under: str | None = None
    """Folder that a path has to be in, at whatever depth: `notes`; None for no folder."""
    origin: str | None = None
    """Scheme, host and port that an address has to have (RFC 6454): `https://a.example`; None for none."""

    @model_validator(mode="after")
    def _one_form(self) -> ArgumentRule:
        if len(self.model_fields_set) != 1:
            raise ValueError("say one of equals, glob, under, origin and any")
        if self.under is not None and not _parts(self.under):
            raise ValueError("under names a folder, without ..")
        if self.origin is not None and _origin(self.origin) is None:
            raise ValueError("origin is http:// or https:// and a host")
        return self

    @property
    def exact(self) -> bool:
        """Whether only one value fits."""
        return "equals" in self.model_fields_set

    @property
    def bounded(self) -> bool:
        """Whether what fits stays at one place: in a folder, or at an origin."""
        return self.under is not None or self.origin is not None

    def fits(self, value: JsonValue) -> bool:
        """Say whether an argument is allowed; of a list, but for a single value, whether each entry is."""
        if self.any:
            return True
        if self.exact:
            return canonical_json(value) == canonical_json(self.equals)
        values = value if isinstance(value, list) else [value]
        return bool(values) and all(isinstance(each, str) and self._fits(each) for each in values)

    def _fits(self, text: str) -> bool:
        if self.glob is not None:
            return fnmatchcase(text, self.glob)
        if self.under is not None:
            folder, path = _parts(self.under), _parts(text)
            return len(path) > len(folder) and path[: len(folder)] == folder
        return self.origin is not None and _origin(text) == _origin(self.origin)


def pattern_of(value: JsonValue) -> ArgumentRule | None:
    """Choose the place that a value is at, a folder or an origin; None for what is at none."""
    if not isinstance(value, str):
        return None
    if origin := _origin(value):
        return ArgumentRule(origin=origin)
    folder = _parts(value)[:-1] if "/" in value and not any(letter.isspace() for letter in value) else ()
    return ArgumentRule(under="/".join(folder)) if folder else None


def rule_of(text: str) -> dict[str, JsonValue]:
    """Read what one argument may be as people type it: `*`, a folder `notes/`, an origin, or a glob."""
    if text == "*":
        return {"any": True}
    if text.endswith("/") and "://" not in text:
        return {"under": text.rstrip("/")}
    return {"origin": text.rstrip("/")} if "://" in text and "*" not in text else {"glob": text}


def rule_words(rule: ArgumentRule) -> str:
    """Say what one argument may be, in words."""
    if rule.any:
        return "any"
    if rule.under is not None:
        return f"in {rule.under}/"
    if rule.origin is not None:
        return f"at {rule.origin}"
    value = json_text(rule.equals) if rule.exact else rule.glob
    return f"= {value}" if rule.exact else f"like {value}"


def _parts(path: str) -> tuple[str, ...]:
    """Split a path into its names; empty for one that may lead elsewhere."""
    parts = PurePosixPath(path).parts
    return () if ".." in parts or "\\" in path else parts


def _origin(url: str) -> str | None:
    """Read the origin of an address; None for what is none, or names somebody before its host."""
    if any(letter.isspace() or letter == "\\" for letter in url):  # what clients read in other ways
        return None
    try:
        parts = urlsplit(url)
        default, port = _PORTS.get(parts.scheme), parts.port
    except ValueError:
        return None
    if default is None or not parts.hostname or "@" in parts.netloc:
        return None
    return f"{parts.scheme}://{parts.hostname}" + (f":{port}" if port not in (None, default) else "")


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
    when: str = Field("", max_length=2000)
    """What has to hold of the arguments, in CEL, by their names: `amount <= 100`; "" for no condition."""
    most: int | None = Field(None, ge=1)
    """How many calls it holds for; None for any number."""

    @model_validator(mode="after")
    def _says_something(self) -> ApprovalScope:
        narrowed = self.args or self.when or self.most
        if self.scope is None and (narrowed or not (self.tools or self.unseen)):
            raise ValueError("say a scope, what tools may do, or unseen")
        return self


def free_in(call: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """Name the arguments that the card of a call shows as free, when it is approved for more than once."""
    return _names(call, "free")


def choosable_in(call: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """Name the arguments of which a person chooses whether they are free: its tool says nothing of them."""
    return _names(call, "choose")


def _names(call: Mapping[str, JsonValue], key: str) -> tuple[str, ...]:
    width = call.get("width")
    names = width.get(key) if isinstance(width, dict) else None
    return tuple(map(str, names)) if isinstance(names, list) else ()
