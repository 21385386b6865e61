"""What an argument stands for, in words: a call of `tickets.close` names a ticket by its number alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue
from typing_extensions import TypedDict

from planwright.capabilities.call_context import CallContext

THERE_IS_NONE = "there is none"


@dataclass(frozen=True)
class ArgumentDescription:
    """What one argument of a call stands for, as it is now."""

    text: str
    """Words for a person; they stand behind the value itself, on one line."""
    untrusted: bool = False
    """Whether the words are those of others, as the title of a ticket may be."""
    missing: bool = False
    """Whether there is nothing that the argument could stand for."""


Describe = Callable[[Mapping[str, JsonValue], CallContext], Awaitable[Mapping[str, ArgumentDescription]]]
"""Says what arguments of a call stand for, by their names; it only reads.

It is given the arguments whose values are known by now: others are not there.
"""


@dataclass(frozen=True)
class Deed:
    """What a call does outside, in two words, so that calls of it can be counted: close a ticket."""

    verb: str
    """What it does, as `close`."""
    noun: str
    """To what, in the singular, as `ticket`."""
    preposition: str = "to"
    """What stands before the destinations of a call, as in `posts 1 message to team`; "" for nothing."""
    where: tuple[str, ...] = ()
    """Names of the arguments that say where it goes; none for the declared destinations."""


@dataclass(frozen=True)
class Rewrite:
    """A file that a call replaces."""

    path: str
    """Its path in the workspace."""
    before: bytes
    """What it holds."""
    after: bytes | None = None
    """What it will hold; None where that is not known yet."""


Rewrites = Callable[[Mapping[str, JsonValue], CallContext], Awaitable[Sequence[Rewrite]]]
"""Lists the files that a call replaces, with what they hold; it only reads, as `Describe` does."""


class OnCards(TypedDict, total=False):
    """What a declaration may say of how a card shows a call."""

    deed: Deed
    """What a call does, in two words, so that calls are counted."""
    describe: Describe
    """Says what arguments of a call stand for."""
    rewrites: Rewrites
    """Lists the files that a call replaces."""


MISSING = ArgumentDescription(THERE_IS_NONE, missing=True)
