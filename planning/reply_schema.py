"""The form of a planner's answer, for providers that can be held to a JSON schema.

It is looser than the plan itself, which is validated afterwards with words a model can mend it by.
"""

from __future__ import annotations

from typing import get_args

from planwright.domain.model_hint import ModelHint
from planwright.domain.plan import Cascade
from planwright.domain.risk import MODES, RISKS

_TEXT = {"type": "string"}
_TOKENS = {"type": "integer", "minimum": 1}
_TEXTS = {"type": "array", "items": _TEXT}
_NEED = {"enum": [True, "required", "preferred"]}
_HINT = {name: _NEED if name.startswith("requires_") else _TOKENS for name in ModelHint.model_fields}
_CALL = {
    "type": "object",
    "properties": {"capability": _TEXT, "params": {"type": "object"}},
    "required": ["capability"],
}
_STEP = {
    "type": "object",
    "properties": {
        "id": _TEXT,
        "capability": _TEXT,
        "description": _TEXT,
        "params": {"type": "object"},
        "depends_on": _TEXTS,
        "tool_hints": _TEXTS,
        "model_hint": {"type": "object", "properties": _HINT},
        "estimated_risk": {"enum": list(RISKS)},
        "success_criteria": {"type": "object", "properties": {"cel": _TEXT, "rubric": _TEXT}},
        "context_key": _TEXT,
        "inputs": _TEXTS,
        "expected_output": _TEXT,
        "timeout_s": {"type": "number", "exclusiveMinimum": 0},
        "on_failed_dependency": {"enum": list(get_args(Cascade))},
        "approval_mode": {"enum": list(MODES)},
        "compensation": _CALL,
        "requires": _TEXTS,
    },
    "required": ["id"],
}
PLAN_FORM = {
    "type": "object",
    "properties": {
        "goal": _TEXT,
        "steps": {"type": "array", "items": _STEP},
        "cannot": _TEXT,
        "clarify": _TEXTS,
    },
}
