"""What an argument stands for, in words: a call of `tickets.close` names a ticket by its number alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

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
MISSING = ArgumentDescription(THERE_IS_NONE, missing=True)


@dataclass(frozen=True)
class Deed:
    """What a call does outside, in two words, so that calls of it can be counted: close a ticket."""

    verb: str
    """What it does, as `close`."""
    noun: str
    """To what, in the singular, as `ticket`."""
    preposition: str = "to"
    """What stands before the destinations of a call, as in `posts 1 message to team`."""
