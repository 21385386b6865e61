"""Criteria in CEL, evaluated over the output of a step."""

from __future__ import annotations

from pydantic import JsonValue

from planwright.capabilities.expression import Values, compiled
from planwright.domain.verified_step import VerifiedStep

NAMES = frozenset(("output",))


def criterion_holds(checked: VerifiedStep, output: JsonValue) -> tuple[bool, str]:
    """Evaluate a step's CEL criterion; one that cannot be evaluated does not hold."""
    criterion = checked.step.success_criteria
    if criterion is None or criterion.cel is None:
        return True, ""
    try:
        holds, why = compiled(criterion.cel).holds(Values({"output": output}))
    except ValueError as error:
        return False, f"criterion {criterion.cel[:200]!r} {error}"
    if holds is None:
        return False, f"criterion {criterion.cel!r} {why}"
    return (True, "") if holds else (False, f"criterion {criterion.cel!r} does not hold")
