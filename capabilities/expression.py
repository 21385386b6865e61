"""CEL of others, evaluated at once where it can cost nothing to speak of, else in the sandbox.

The library has no limit of steps and holds the interpreter's lock: `l.all(a, l.all(b, l.all(c, …)))` over
fifty values is half a second, and one more `all` half a minute.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from planwright.domain.errors import OverLimit
from planwright.presentation.nearest import nearest
from planwright.sandbox.sandbox import JobFailed, sandbox

if TYPE_CHECKING:
    import cel

LONGEST = 2000
JOB = "planwright.capabilities.cel_program:evaluate_text"
MOST_WORK = 20_000_000  # measured: up to 0.1 s
# What CEL itself calls variables: its types, and the namespace of optional values.
_BUILT_IN = frozenset("int uint double string bytes bool list map null_type type optional".split())
_BOUND = re.compile(r"\.\s*(?:all|exists|exists_one|existsOne|map|filter)\s*\(\s*(\w+)\s*,")
_MACRO = re.compile(r"\.\s*(?:all|exists|exists_one|existsOne|map|filter)\s*\(")


@dataclass(frozen=True)
class Values:
    """What expressions may name, turned into CEL's own values once: it is most of the work.

    `request` is what the user wrote: `from_user(args.x)` looks an argument up in it.
    """

    values: Mapping[str, object]
    """What expressions may name, by name, as values of CEL."""
    request: str = ""
    """What the user wrote, for `from_user`."""

    @cached_property
    def context(self) -> cel.Context:
        """The values as CEL has them. Raises ValueError for what it cannot hold, e.g. half a surrogate"""
        from planwright.capabilities.cel_program import context_of

        return context_of(self.values, self.request)

    @cached_property
    def size(self) -> tuple[int, int]:
        """How much there is in all, in characters and entries, and how many entries the longest list has."""
        total = widest = 1
        pending: list[object] = [self.values]
        while pending:
            value = pending.pop()
            if isinstance(value, dict | list | tuple):
                widest = max(widest, len(value))
                total += len(value)
                pending += value.values() if isinstance(value, dict) else value
            else:
                total += len(value) if isinstance(value, str) else 1
        return total, widest


@dataclass(frozen=True)
class Expression:
    """One compiled expression."""

    source: str
    """The expression as it is written."""
    program: cel.Program = field(compare=False, repr=False)
    """The same, compiled."""

    @cached_property
    def macros(self) -> int:
        """How many times it may go through a list, one inside the other at worst."""
        return len(_MACRO.findall(self.source))

    def holds(self, values: Values) -> tuple[bool | None, str]:
        """Say whether it is true; None, and why, where it cannot be evaluated or is no boolean."""
        try:
            if self._cheap(values):
                from planwright.capabilities.cel_program import evaluate

                return evaluate(self.program, lambda: values.context)
            answer: tuple[bool | None, str] = sandbox().run(
                JOB, self.source, dict(values.values), values.request
            )
        except (OverLimit, JobFailed) as error:
            return None, f"cannot be evaluated: {error.cause}"
        return answer

    def _cheap(self, values: Values) -> bool:
        """Say whether no input of this size can make it cost much: each macro goes through it once more."""
        size, widest = values.size
        length = len(self.source)
        work: int = length * size * max(widest, length) ** self.macros
        return work <= MOST_WORK


def compiled(source: str) -> Expression:
    """Compile an expression. Raises ValueError for what is not CEL, or is too long."""
    if len(source) > LONGEST:
        raise ValueError(f"has {len(source):,} characters, {LONGEST:,} are allowed")
    from planwright.capabilities.cel_program import program_of  # here: 0.4 s at the start of every command

    return Expression(source, program_of(source))


def check_names(expression: Expression, known: frozenset[str]) -> frozenset[str]:
    """Return the names that an expression uses. Raises ValueError for one, or a function, there is not."""
    from planwright.capabilities.cel_program import FUNCTIONS  # loaded by now

    names = frozenset(expression.program.variables())
    bound = frozenset(_BOUND.findall(expression.source))
    if strange := sorted(names - known - _BUILT_IN - bound):
        raise ValueError(f"there is no `{strange[0]}`; there are {', '.join(sorted(known))}")
    for name in expression.program.functions():
        if name.isidentifier() and name not in FUNCTIONS:
            near = ", ".join(nearest(name, sorted(FUNCTIONS), limit=3))
            raise ValueError(f"there is no function `{name}`; nearest: {near}")
    return names
