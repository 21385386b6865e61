"""The condition of an approval that lasts, as `amount <= 100`: checked when it is given and at each use."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from planwright.capabilities.expression import Values, check_names, compiled
from planwright.domain.errors import GateError
from planwright.records.consent.gate import Gate

ARGS = "args"


def check_condition(gate: Gate, when: str) -> None:
    """Raise GateError unless a condition is CEL over the arguments of a gate's one call, and true of them."""
    if not when:
        return
    args = gate.card.get("args") if len(gate.calls) == 1 else None
    if not isinstance(args, dict):
        raise GateError("a condition is over the arguments of one call", "approve these calls without `when`")
    try:
        check_names(compiled(when), frozenset((*args, ARGS)))
    except ValueError as error:
        raise GateError(f"`when`: {error}", "name arguments of the call: amount <= 100") from error
    if not satisfies(args, when):
        raise GateError(
            f"`when` is not true of this call itself: {when}", f"look at it: planwright show {gate.thread_id}"
        )


def satisfies(args: Mapping[str, JsonValue], when: str) -> bool:
    """Say whether a condition is true of arguments; what cannot be evaluated is not."""
    return not when or compiled(when).holds(Values({**args, ARGS: dict(args)}))[0] is True
