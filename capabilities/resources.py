"""Names of what calls touch, and when the order of two calls counts.

A name is a kind and a path, e.g. `file:notes/a.md` or `tickets`. It stands for itself and all below it, as
in J. Gray and others, "Granularity of Locks in a Shared Data Base" (VLDB 1975). What a reference hides may
be anything: `file:notes/{{steps.a.output.name}}` stands for the whole folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Literal

from pydantic import JsonValue
from typing_extensions import TypedDict

from planwright.capabilities.call_context import CallContext

NamesOfCall = Callable[[Mapping[str, JsonValue], CallContext], Sequence[str]]
Names = NamesOfCall | Sequence[str]
"""The resources of every call, or a function that names those of one by its arguments."""


class Resources(TypedDict, total=False):
    """What a declaration may say about the resources of a call."""

    reads: Names
    """Names of what the call reads, or a function that lists them by its arguments."""
    adds: Names
    """Names of what the call adds to, or a function that lists them by its arguments."""
    writes: Names
    """Names of what the call overwrites, or a function that lists them by its arguments."""


UseOf = Literal["reads", "adds", "writes"]
ANYTHING = ""


@dataclass(frozen=True)
class Uses:
    """The resources of one call.

    Calls that only read a resource have no order among them, nor have those that only `add` to it: a ticket,
    a post. Every other two keep the order of their plan.
    """

    reads: frozenset[str] = frozenset()
    """Names of resources that are only read."""
    adds: frozenset[str] = frozenset()
    """Names of resources that are added to; the order among such calls does not matter."""
    writes: frozenset[str] = frozenset()
    """Names of resources that are overwritten."""

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of all its resources; ANYTHING where one may be of any kind."""
        return frozenset(_place(name)[:1][0] if _place(name) else ANYTHING for name in self._all)

    @property
    def _all(self) -> frozenset[str]:
        return self.reads | self.adds | self.writes

    def shared(self, other: Uses) -> str | None:
        """Name a resource over which the order of the two calls counts; None where it does not."""
        kinds = self.kinds, other.kinds
        if kinds[0].isdisjoint(kinds[1]) and not any(ANYTHING in kind for kind in kinds):
            return None
        pairs = (
            (self.writes, other._all),
            (self.adds, other.reads | other.writes),
            (self.reads, other.adds | other.writes),
        )
        shared = (
            max(name, other_name, key=lambda resource: (len(_place(resource)), resource))
            for mine, others in pairs
            for name, other_name in product(sorted(mine), sorted(others))
            if overlap(name, other_name)
        )
        return max(shared, key=lambda name: len(_place(name)), default=None)


def all_of(uses: Iterable[Uses]) -> Uses:
    """Put together what several calls use."""
    several = list(uses)
    return Uses(
        frozenset().union(*(use.reads for use in several)),
        frozenset().union(*(use.adds for use in several)),
        frozenset().union(*(use.writes for use in several)),
    )


def overlap(first: str, second: str) -> bool:
    """Say whether two names may stand for the same thing: they are equal, or one lies below the other."""
    return all(a == b for a, b in zip(_place(first), _place(second), strict=False))


def shown_name(name: str) -> str:
    """Put a resource in the words of a card: `a.txt` for a file, its kind where no more is known."""
    kind, *path = _place(name) or ("the same thing",)
    return "/".join(path) or {"file": "files"}.get(kind, kind)


def _place(name: str) -> tuple[str, ...]:
    """Split a name into kind and path, as far as both are known."""
    known, unknown, _ = name.partition("{{")
    kind, colon, path = known.partition(":")
    if unknown and not colon:
        return ()
    parts = path.split("/")
    whole = parts[:-1] if unknown else parts
    return tuple(part for part in (kind, *whole) if part)
