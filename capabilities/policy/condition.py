"""The `when` of a policy rule: one CEL expression about a call, compiled once.

It answers yes, no, unknown (it needs an argument that is not known yet) or error, and only the
first two are ever taken at their word.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from planwright.capabilities.expression import Expression, Values, check_names, compiled
from planwright.domain.references import cel_paths

ConditionResult = Literal["yes", "no", "unknown", "error"]

FROM_ARGS = frozenset(("host", "hosts"))  # a capability works its hosts out from the arguments
NAMES = FROM_ARGS | frozenset(("args", "capability", "mode", "risk", "tenant", "agent", "tainted"))


@dataclass(frozen=True)
class Condition:
    """A compiled expression; `keys` are the arguments it reads, None when it may read any."""

    expression: Expression
    """The compiled expression."""
    names: frozenset[str]
    """Names that it uses."""
    keys: frozenset[str] | None
    """Arguments that it reads; None when it may read any."""

    def judge(self, facts: Values, unknown: Collection[str] | None) -> tuple[ConditionResult, str]:
        """Evaluate over the facts of a call, and say why where it is neither yes nor no.

        `unknown` names the arguments that are not known yet; None says that none is known.
        """
        if self._needs(unknown):
            return "unknown", f"`{self.source}` needs what is not known before the call"
        holds, why = self.expression.holds(facts)
        if holds is None:
            return "error", f"`{self.source}` {why}"
        return ("yes" if holds else "no"), ""

    @property
    def source(self) -> str:
        """The expression as it is written."""
        return self.expression.source

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
    try:
        expression = compiled(source)
    except ValueError as error:
        raise ValueError(f"that {error}") from error
    return Condition(expression, check_names(expression, NAMES), _keys_read(source))


def _keys_read(source: str) -> frozenset[str] | None:
    """List the arguments an expression names; None where it uses `args` in any other way."""
    paths = cel_paths(source, "args")
    return None if ["args"] in paths else frozenset(path[1] for path in paths)
