"""What came of one step of a run that the critic did not accept, for the page of its gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planwright.presentation.rows import Card


@dataclass(frozen=True)
class StepOutcome:
    """What came of one step, where the critic did not accept a run."""

    id: str
    """Id of the step."""
    name: str
    """Name of what it calls."""
    risk: str
    """Risk of the call."""
    status: str
    """How it ended; `open` where it has not."""
    output: str
    """What it brought; "" for nothing."""
    why: str
    """Why it is not accepted; "" where it is."""
    findings: Sequence[str]
    """What the critic noticed."""


def step_outcome(step: Card, card: Card) -> StepOutcome:
    """Lay out what came of a step, as the card of its run has it."""
    why, findings = card.get("args"), step.get("findings")
    return StepOutcome(
        id=str(step["id"]),
        name=str(step["capability"]),
        risk=str(step["risk"]),
        status=str(step["status"]),
        output=str(step.get("output") or ""),
        why=str(why.get(str(step["id"]), "")) if isinstance(why, Mapping) else "",
        findings=[str(line) for line in findings] if isinstance(findings, list) else [],
    )
