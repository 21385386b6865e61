"""What rows hold of plans, verified steps and results: short, the same when it is read, and for good."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel, ValidationError

from planwright.domain.hashing import same, stored_json, whole_json
from planwright.domain.plan import Plan, PlanStep
from planwright.domain.results import StepResult
from planwright.domain.verified_step import VerifiedStep

STORED = (Plan, VerifiedStep, StepResult)
# What the absence of a field means in rows on disk. A row is read by the program of another day: whoever
# changes one of these changes what people have approved.
DEFAULTS: dict[str, dict[str, Any]] = {
    "Plan": {"plan_id": "", "revision": 1, "goal": "", "intent": "", "steps": []}
    | {"on_failed_dependency": "partial", "decision_checkpoints": [], "cannot": ""},
    "PlanStep": {"capability": None, "params": {}, "description": "", "depends_on": [], "inputs": []}
    | {"tool_hints": [], "context_key": "", "expected_output": "", "success_criteria": None}
    | {"returns": None, "on_empty": None, "when": ""}
    | {"estimated_risk": "Low", "approval_mode": None, "model_hint": None, "on_failed_dependency": None}
    | {"compensation": None, "timeout_s": None, "requires": []},
    "Criterion": {"cel": None, "rubric": None},
    "ModelHint": {"requires_reasoning": None, "requires_code": None, "requires_vision": None}
    | {"requires_function_calling": None, "requires_streaming": None}
    | {"min_context": None, "preferred_context": None},
    "Compensation": {"params": {}},
    "DecisionCheckpoint": {},
    "VerifiedStep": {"reason": "", "cascade": "partial", "policy": None, "chain": None, "asks": False}
    | {"undeclared": False, "asks_once": False}
    | {"tainted": False, "pin": "", "done_before": "", "kept": "", "asked_with": ""}
    | {"follows": [], "gates": [], "decisions": [], "bound": [], "read_first": False, "known": ""},
    "PolicyEvidence": {"approvers": [], "quorum": 1, "exclude_requester": False, "undecided": False},
    "Chain": {},
    "ChainParameter": {"type": "any", "description": ""},
    "ChainCall": {},
    "OrderEdge": {},
    "StepGate": {"approvers": [], "quorum": 1, "exclude_requester": False, "expires_s": None, "reason": ""},
    "BoundDecision": {"sources": {}},
    "StepResult": {"output": None, "blob": None, "code": "", "error": "", "instead_of": "", "attempts": 1}
    | {"missing": [], "seconds": 0.0, "kept_from": "", "note": "", "part": "", "envelope": None}
    | {"args": None, "args_blob": None},
    "LaneEnvelope": {"offered": {}, "calls": [], "effects": [], "evidence": []}
    | {"usage": {"turns": 0, "calls": 0, "tokens": 0}, "guard_trips": []},
    "LaneCall": {"uid": "", "effect": "pure", "error": ""},
    "EffectRecord": {"decided": "", "needed": False, "known": True, "tainted": False, "risk": "None"},
    "LaneUsage": {"turns": 0, "calls": 0, "tokens": 0},
}
STEP = {
    "id": "s1",
    "capability": "orders.refund",
    "params": {"order": "ord_881", "none": None, "empty": "", "nothing": [], "no": False},
    "description": "Refund",
    "depends_on": ["s0"],
    "success_criteria": {"cel": "output.ok"},
    "estimated_risk": "High",
    "approval_mode": "network",
    "model_hint": {"requires_code": "required", "min_context": 8000},
    "on_failed_dependency": "skip",
    "compensation": {"capability": "orders.charge", "params": {"amount": 0}},
    "timeout_s": 5.0,
    "requires": ["finance"],
}
VERIFIED = {
    "step": STEP,
    "uid": "step_1",
    "needs": ["step_0"],
    "effect": "blind",
    "mode": "network",
    "risk": "High",
    "gated": False,
    "policy": {"rule": "policy.toml:12", "version": "1", "approvers": ["kim"], "quorum": 2},
    "chain": {"name": "c", "description": "", "inputs": {"a": {"type": "any"}}, "calls": []},
    "asks": True,
    "tainted": True,
    "follows": [{"uid": "step_0", "resource": "orders"}],
    "gates": [{"name": "finance", "expires_s": 60.0}],
    "bound": [{"decision_id": "d", "version": "1"}],
}
RESULT = {
    "uid": "step_1",
    "step_id": "s1",
    "capability": "orders.refund",
    "status": "completed",
    "output": {"ok": True, "note": None, "lines": []},
    "missing": ["s0"],
    "envelope": {
        "result": "done",
        "calls": [{"capability": "a.b", "ended": "completed", "effect": "blind"}],
        "effects": [{"key": "k", "uid": "u", "capability": "a.b", "status": "done", "tainted": True}],
    },
}


def models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Name a model and all that its fields hold."""
    yield model
    todo: list[Any] = [field.annotation for field in model.model_fields.values()]
    while todo:
        kind = todo.pop()
        todo += get_args(kind)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from models(kind)


def test_what_a_row_leaves_out_means_the_same_for_good() -> None:
    every = {model.__name__: model for root in STORED for model in models(root)}
    defaults = {
        name: {
            field: info.get_default(call_default_factory=True)
            for field, info in model.model_fields.items()
            if not info.is_required()
        }
        for name, model in every.items()
    }
    as_json = json.loads(json.dumps(defaults, default=lambda value: value.model_dump()))
    assert as_json == DEFAULTS


@pytest.mark.parametrize(
    "value",
    [
        Plan.model_validate({"goal": "Refund", "steps": [STEP, {"id": "s2", "capability": "a.b"}]}),
        VerifiedStep.model_validate(VERIFIED),
        StepResult.model_validate(RESULT),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_read_is_what_was_stored(value: Any) -> None:
    text = stored_json(value)
    assert type(value).model_validate_json(text) == value
    assert whole_json(type(value), text) == value.model_dump(mode="json")
    assert whole_json(type(value), value.model_dump_json()) == value.model_dump(mode="json")  # an older row
    assert len(text) < len(value.model_dump_json())


@pytest.mark.parametrize("other", [1.0, True, "1", [1], {"n": 1}, None], ids=str)
def test_values_of_other_types_are_not_the_same(other: Any) -> None:
    assert same({"n": [1], "m": 2}, {"m": 2, "n": [1]})
    assert not same(1, other)
    assert not same({"n": [1]}, {"n": [other]})


@pytest.mark.parametrize(
    "criterion", [{"cel": "output.ok"}, {"cel": None}, {"rubric": ""}, {}, "in words", None]
)
def test_a_plan_keeps_its_hash(criterion: Any) -> None:
    plan = Plan.model_validate({"goal": "Refund", "steps": [STEP | {"success_criteria": criterion}]})
    assert Plan.model_validate_json(stored_json(plan)).plan_hash == plan.plan_hash


def test_values_in_a_row_are_a_list() -> None:
    steps = [VerifiedStep.model_validate(VERIFIED | {"uid": uid}) for uid in ("a", "b")]
    assert [VerifiedStep.model_validate(entry) for entry in json.loads(stored_json(steps))] == steps
    assert stored_json(list[PlanStep]()) == "[]"


def test_a_row_that_was_changed_is_not_read() -> None:
    with pytest.raises(ValidationError):
        whole_json(StepResult, '{"uid": "step_1"}')
