"""How far an approval that lasts goes: made whole when it is given, and its condition asked at each use."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from planwright.capabilities.expression import Values, check_names, compiled
from planwright.domain.errors import GateError
from planwright.records.consent.approval_scope import ApprovalScope, ArgumentRule, choosable_in, free_in
from planwright.records.consent.gate import Gate

_ARGS = "args"
_ANY = ArgumentRule(any=True)


def whole_scope(gate: Gate, scope: ApprovalScope) -> ApprovalScope:
    """Say of an approval what it says by the way: what may differ where it names a place or a condition.

    At a place (a folder, an origin), and under a condition for a run or a conversation, all that the card
    shows as free may differ, and so may what the condition is about. Raises GateError for a condition that
    is no CEL over the arguments of the gate's one call, or is not true of them.
    """
    named = _named(gate, scope.when) if scope.when else frozenset()
    free = {*free_in(gate.card), *choosable_in(gate.card)} & named
    if any(rule.bounded for rule in scope.args.values()) or (scope.when and scope.scope != "always"):
        free |= {*free_in(gate.card)}
    more = dict.fromkeys(sorted(free - scope.args.keys()), _ANY)
    return scope.model_copy(update={"args": {**scope.args, **more}}) if more else scope


def satisfies(args: Mapping[str, JsonValue], when: str) -> bool:
    """Say whether a condition is true of arguments; what cannot be evaluated is not."""
    return not when or compiled(when).holds(Values({**args, _ARGS: dict(args)}))[0] is True


def _named(gate: Gate, when: str) -> frozenset[str]:
    """Name what a condition is about."""
    args = gate.card.get("args") if len(gate.calls) == 1 else None
    if not isinstance(args, dict):
        raise GateError("a condition is over the arguments of one call", "approve these calls without `when`")
    try:
        names = check_names(compiled(when), frozenset((*args, _ARGS)))
    except ValueError as error:
        raise GateError(f"`when`: {error}", "name arguments of the call: amount <= 100") from error
    if not satisfies(args, when):
        raise GateError(
            f"`when` is not true of this call itself: {when}", f"look at it: planwright show {gate.thread_id}"
        )
    return names
