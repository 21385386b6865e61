"""Every field of a plan counts: changing it changes the hash that people approve. Walked from the models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel, ValidationError

from planwright.domain.model_hint import ModelHint, Need
from planwright.domain.plan import Cascade, Compensation, Criterion, DecisionCheckpoint, Plan, PlanStep
from planwright.domain.risk import MODES, RISKS

NAMES_ONLY = {("Plan", "plan_id"), ("Plan", "revision"), ("Plan", "intent")}  # they decide nothing that runs
WORDS = (*RISKS, *MODES, *get_args(Cascade), *get_args(Need), "int")
PLACES: dict[str, type[BaseModel]] = {
    "steps": PlanStep,
    "decision_checkpoints": DecisionCheckpoint,
    "success_criteria": Criterion,
    "compensation": Compensation,
    "model_hint": ModelHint,
}
EVERYTHING: dict[str, Any] = {
    "plan_id": "plan_1",
    "revision": 1,
    "goal": "Refund the order",
    "intent": "support.refund",
    "cannot": "ask the bank",
    "on_failed_dependency": "skip",
    "decision_checkpoints": [{"decision_id": "support.refund.execute", "after_step": "s1"}],
    "steps": [
        {
            "id": "s1",
            "capability": "orders.lookup",
            "params": {"order": "ord_881"},
            "description": "Look the order up",
            "depends_on": ["s0"],
            "inputs": ["customer"],
            "context_key": "order",
            "expected_output": "ORDER",
            "success_criteria": {"cel": "output.total > 0", "rubric": "the order is there"},
            "estimated_risk": "Low",
            "approval_mode": "local_write",
            "on_failed_dependency": "skip",
            "on_empty": "end",
            "when": "steps.s0.output.total > 0",
            "compensation": {"capability": "orders.forget", "params": {"id": "{{output.id}}"}},
            "timeout_s": 30.0,
            "requires": ["finance"],
        },
        {
            "id": "s2",
            "description": "Write to the customer",
            "tool_hints": ["mail.send"],
            "returns": {"to": "str"},
            "model_hint": {
                **{name: "required" for name in ModelHint.model_fields if name.startswith("requires_")},
                "min_context": 1000,
                "preferred_context": 2000,
            },
        },
    ],
}


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Walk all values that hold no others."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in pairs:
            yield from leaves(inner, (*path, key))
    else:
        yield path, value


def field_at(path: tuple[str | int, ...]) -> tuple[str, str]:
    """Name the model and the field that a path leads into."""
    model: type[BaseModel] = Plan
    name = ""
    for part in path:
        if isinstance(part, str) and part in model.model_fields:
            name = part
            if part in PLACES:
                owner, model = model, PLACES[part]
                found = (owner.__name__, name)
                continue
            found = (model.__name__, name)
    return found


def changed(path: tuple[str | int, ...], value: Any) -> Iterator[Plan]:
    """Make the plans that differ in one value and are plans still."""
    others = [value + 1] if isinstance(value, int | float) else [f"{value}x", *WORDS]
    for other in others:
        plan = json.loads(json.dumps(EVERYTHING))
        place = plan
        for part in path[:-1]:
            place = place[part]
        place[path[-1]] = other
        try:
            found = Plan.model_validate(plan)
        except ValidationError:
            continue
        if other != value:
            yield found


LEAVES = [(path, value) for path, value in leaves(EVERYTHING)]


def test_every_field_of_every_model_of_a_plan_is_walked() -> None:
    models: tuple[type[BaseModel], ...] = (Plan, *PLACES.values())
    fields = {(model.__name__, name) for model in models for name in model.model_fields}
    into = {("Plan", "steps"), ("Plan", "decision_checkpoints")}
    into |= {("PlanStep", name) for name in ("success_criteria", "compensation", "model_hint")}
    assert {field_at(path) for path, _ in LEAVES} == fields - into


@pytest.mark.parametrize(("path", "value"), LEAVES, ids=[".".join(map(str, path)) for path, _ in LEAVES])
def test_a_changed_field_changes_the_hash(path: tuple[str | int, ...], value: Any) -> None:
    before = Plan.model_validate(EVERYTHING).plan_hash
    plans = list(changed(path, value))
    assert plans
    kept = field_at(path) in NAMES_ONLY
    assert all((plan.plan_hash == before) is kept for plan in plans)
