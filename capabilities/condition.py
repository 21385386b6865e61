"""The `when` of a policy rule: one CEL expression about a call, compiled once.

It answers yes, no, unknown (it needs an argument that is not known yet) or error, and only the
first two are ever taken at their word (SPEC 4.5).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from planwright.graph.own_words import holds, own_words

if TYPE_CHECKING:
    import cel

Verdict = Literal["yes", "no", "unknown", "error"]

NAMES = frozenset(("args", "capability", "mode", "risk", "tenant", "agent", "host", "hosts", "tainted"))
FROM_ARGS = frozenset(("host", "hosts"))  # a capability works its hosts out from the arguments
LONGEST = 2000
# Those of cel-rust 0.14, which cannot be asked: it says "undefined function" of wrong arguments, too.
FUNCTIONS = frozenset(
    "size contains startsWith endsWith matches int uint double string bytes timestamp duration type dyn"
    " getFullYear getMonth getDayOfMonth getDate getDayOfWeek getDayOfYear getHours getMinutes getSeconds"
    " getMilliseconds of none ofNonZeroValue hasValue value orValue or from_user".split()
)
# What CEL itself calls variables: its types, and the namespace of optional values.
_BUILT_IN = frozenset("int uint double string bytes bool list map null_type type optional".split())
_BOUND = re.compile(r"\.\s*(?:all|exists|exists_one|existsOne|map|filter)\s*\(\s*(\w+)\s*,")
_ARGS = re.compile(r"\bargs\b(?:\s*\.\s*(\w+)(?!\s*\()\b|\s*\[\s*(?:\"(\w+)\"|'(\w+)')\s*\])?")
_UNDEFINED = re.compile(r"Undefined variable or function: '(\w+)'")
_FAILURES = (ValueError, TypeError, LookupError, RuntimeError, ArithmeticError)


@dataclass(frozen=True)
class Facts:
    """What rules may ask about one call, turned into CEL's own values once: it is most of the work.

    `request` is what the user wrote: `from_user(args.x)` looks an argument up in it.
    """

    values: dict[str, object]
    request: str = ""

    @cached_property
    def context(self) -> cel.Context:
        """The values as CEL has them. Raises ValueError for what it cannot hold, e.g. half a surrogate"""
        import cel

        context = cel.Context(self.values)
        context.add_function("from_user", self._from_user)
        return context

    def _from_user(self, value: object) -> bool:
        return holds(own_words(self.request), str(value))


@dataclass(frozen=True)
class Condition:
    """A compiled expression; `keys` are the arguments it reads, None when it may read any."""

    source: str
    names: frozenset[str]
    keys: frozenset[str] | None
    program: cel.Program = field(compare=False, repr=False)

    def judge(self, facts: Facts, unknown: Collection[str] | None) -> tuple[Verdict, str]:
        """Evaluate over the facts of a call, and say why where it is neither yes nor no.

        `unknown` names the arguments that are not known yet; None says that none is known.
        """
        if self._needs(unknown):
            return "unknown", f"`{self.source}` needs what is not known before the call"
        try:
            held = self.program.execute(facts.context)
        except _FAILURES as error:
            return "error", f"`{self.source}` cannot be evaluated: {_failure(error)}"
        if held is True or held is False:
            return ("yes" if held else "no"), ""
        return "error", f"`{self.source}` is {held!r:.40}, neither true nor false"

    def _needs(self, unknown: Collection[str] | None) -> bool:
        if unknown is not None and not unknown:
            return False
        if self.names & FROM_ARGS:
            return True
        if "args" not in self.names:
            return False
        return unknown is None or self.keys is None or not self.keys.isdisjoint(unknown)


def compile_condition(source: str) -> Condition:
    """Compile an expression. Raises ValueError for what is not CEL, or names what there is not."""
    import cel  # here, for it brings a terminal toolkit along: 0.4 s at the start of every command

    try:
        program = cel.compile(source)
    except ValueError as error:
        raise ValueError(f"that is not CEL: {first_line(error)}") from error
    names = frozenset(program.variables())
    known = NAMES | _BUILT_IN | frozenset(_BOUND.findall(source))
    if strange := sorted(names - known):
        raise ValueError(f"there is no `{strange[0]}`; there are {', '.join(sorted(NAMES))}")
    for name in program.functions():
        if name.isidentifier() and name not in FUNCTIONS:
            raise ValueError(f"there is no function `{name}`; there are {', '.join(sorted(FUNCTIONS))}")
    return Condition(source, names, _keys_read(source), program)


def _keys_read(source: str) -> frozenset[str] | None:
    """List the arguments an expression names; None where it uses `args` in any other way."""
    found = [next(filter(None, match.groups()), "") for match in _ARGS.finditer(source)]
    return None if "" in found else frozenset(found)


def _failure(error: Exception) -> str:
    """Put CEL's error into words: it calls a function undefined when a value has the wrong type."""
    if isinstance(error, LookupError):
        return f"there is no {error}"
    name = _UNDEFINED.match(str(error))
    if name and name[1] in FUNCTIONS:
        return f"`{name[1]}` does not take a value of that type"
    return first_line(error)


def first_line(error: Exception) -> str:
    """Read the first line of an error, and no more than fits on a screen."""
    return next(iter(str(error).splitlines()), type(error).__name__)[:200]
