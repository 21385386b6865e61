"""The form of a planner's answer, for providers that can be held to a JSON schema.

It is looser than the plan itself, which is validated afterwards with words a model can mend it by.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from planwright.domain.plan import Cascade, OnEmpty
from planwright.domain.risk import MODES, RISKS

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_FREE = {"type": "object"}


def _of(form: Mapping[str, object], words: str) -> dict[str, object]:
    return {**form, "description": words}


_CEL = "cel: an expression over `output`, as output.count > 0"
_CASCADE = "where a step it needs brings nothing. partial: it runs with what is there; skip: it is left out"
_EMPTY = (
    "where it refers to an item of an empty list. skip: it is left out; end: the plan ends; go_on: with null"
)
_STEP: dict[str, object] = {
    "id": _TEXT,
    "capability": _TEXT,
    "description": _TEXT,
    "params": _FREE,
    "depends_on": _TEXTS,
    "tool_hints": _TEXTS,
    "returns": _of(_FREE, 'of a step without capability: {"report": "str", "points": "str[]"}'),
    "model_hint": _of(_FREE, "requires_(reasoning|code|vision|…): true|preferred, min_context"),
    "estimated_risk": {"enum": list(RISKS)},
    "success_criteria": _of(_FREE, _CEL),
    "context_key": _of(_TEXT, "names the output for `inputs`"),
    "inputs": _TEXTS,
    "expected_output": _TEXT,
    "timeout_s": {"type": "number"},
    "on_failed_dependency": _of({"enum": list(get_args(Cascade))}, _CASCADE),
    "when": _of(_TEXT, "cel over outputs of earlier steps, as steps.s1.output.amount > 1000: else left out"),
    "on_empty": _of({"enum": list(get_args(OnEmpty))}, _EMPTY),
    "approval_mode": {"enum": list(MODES)},
    "compensation": _of(_FREE, "capability, params over {{input.x}}, {{output.x}}"),
    "requires": _of(_TEXTS, "of <gates>"),
}


_CHECKPOINT = {
    "type": "object",
    "properties": {"decision_id": _TEXT, "after_step": _TEXT},
    "required": ["decision_id", "after_step"],
}


def plan_form(*, judged: bool, decides: bool) -> dict[str, object]:
    """Make the form: with criteria in words where they are `judged`, with decisions where there are any."""
    criterion = f"{_CEL}; or rubric: what the output has to be like, in words" if judged else _CEL
    decisions = {"decision_checkpoints": {"type": "array", "items": _CHECKPOINT}} if decides else {}
    steps = {**_STEP, "success_criteria": _of(_FREE, criterion)}
    return {
        "type": "object",
        "properties": {
            "goal": _TEXT,
            "steps": {
                "type": "array",
                "items": {"type": "object", "properties": steps, "required": ["id"]},
            },
            **decisions,
            "cannot": _TEXT,
            "clarify": _TEXTS,
        },
    }
