"""Two runs step by step: how each step went in the one and in the other. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planwright.extras.web.view_models.run_page import StepRow


@dataclass(frozen=True)
class StepPair:
    """One step in two runs."""

    name: str
    """Id of the step, or the number of the call where no plan names it."""
    first: StepRow | None
    """The step in the first run; None where it has none."""
    second: StepRow | None
    """The step in the second run; None where it has none."""
    differs: Sequence[str]
    """What differs, in words; empty where nothing does but times and keys."""


def step_pairs(first: Sequence[StepRow], second: Sequence[StepRow]) -> list[StepPair]:
    """Set the steps of two runs side by side, by their ids; calls without a plan by their order."""
    ours, theirs = _named(first), _named(second)
    names = dict.fromkeys((*ours, *theirs))
    return [_pair(name, ours.get(name), theirs.get(name)) for name in names]


def _named(steps: Sequence[StepRow]) -> dict[str, StepRow]:
    return {step.id or f"call {number}": step for number, step in enumerate(steps, 1)}


def _pair(name: str, first: StepRow | None, second: StepRow | None) -> StepPair:
    if first is None or second is None:
        only = f"only in the {'second' if first is None else 'first'} run"
        return StepPair(name, first, second, (only,))
    sides = {
        "capability": (first.name, second.name),
        "order": (first.after, second.after),
        "arguments": (first.values, second.values),
        "end": (first.word, second.word),
        "result": (first.output, second.output),
        "note": (first.note, second.note),
        "attempts": (first.tries, second.tries),
        "calls within": (_calls(first), _calls(second)),
    }
    differs = [part for part, (before, after) in sides.items() if before != after]
    return StepPair(name, first, second, differs)


def _calls(step: StepRow) -> list[tuple[str, str, object, str]]:
    return [(call.name, call.word, call.values, call.output) for call in step.calls]
