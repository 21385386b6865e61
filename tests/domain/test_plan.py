"""The plan: what it accepts, what it implies, and what its hash covers."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from planwright.domain.plan import Criterion, Plan, PlanStep
from planwright.domain.risk import Risk

FULL: dict[str, Any] = {
    "id": "s2",
    "capability": "tickets.create",
    "params": {"title": "x", "amount": "{{steps.s1.output.value}}"},
    "description": "Create the ticket",
    "depends_on": ["s1"],
    "inputs": ["invoice"],
    "tool_hints": ["tickets.list"],
    "returns": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
    "context_key": "ticket",
    "expected_output": "a ticket",
    "success_criteria": {"cel": "output.id > 0"},
    "estimated_risk": "Medium",
    "approval_mode": "local_write",
    "model_hint": {"requires_reasoning": "required"},
    "on_failed_dependency": "skip",
    "on_empty": "skip",
    "when": "steps.s1.output.value > 0",
    "compensation": {"capability": "tickets.close", "params": {"id": "{{output.id}}"}},
    "timeout_s": 12.5,
    "requires": ["finance"],
}
IN_CAMEL_CASE = {
    "id": "s2",
    "toolName": "tickets.create",
    "arguments": {"title": "x", "amount": "{{steps.s1.output.value}}"},
    "description": "Create the ticket",
    "dependsOn": ["s1"],
    "inputs": ["invoice"],
    "toolHints": ["tickets.list"],
    "returns": {"id": "int"},
    "contextKey": "ticket",
    "expectedOutput": "a ticket",
    "successCriteria": {"cel": "output.id > 0"},
    "estimatedRisk": "medium",
    "approvalMode": "local_write",
    "modelHint": {"requiresReasoning": True},
    "onFailedDependency": "skip",
    "onEmpty": "skip",
    "when": "steps.s1.output.value > 0",
    "compensation": {"toolName": "tickets.close", "arguments": {"id": "{{output.id}}"}},
    "timeoutS": 12.5,
    "requires": ["finance"],
}
WITH_OTHER_NAMES = {
    **FULL,
    "tool": FULL["capability"],
    "task_objective": FULL["description"],
    "args": FULL["params"],
}
for taken in ("capability", "description", "params"):
    del WITH_OTHER_NAMES[taken]


@pytest.mark.parametrize("form", [IN_CAMEL_CASE, WITH_OTHER_NAMES], ids=["camelCase", "other names"])
def test_the_keys_of_the_seeds_are_understood(form: dict[str, Any]) -> None:
    assert PlanStep.model_validate(form) == PlanStep.model_validate(FULL)


def test_every_field_of_the_full_step_is_read() -> None:
    step = PlanStep.model_validate(FULL)
    assert set(FULL) == set(PlanStep.model_fields)
    assert step.model_dump(mode="json", exclude_none=True) == FULL


@pytest.mark.parametrize(
    ("given", "read"),
    [("LOW", "Low"), ("none", "None"), (None, "None"), ("Critical", "Critical"), ("hIGH", "High")],
)
def test_a_risk_is_read_in_any_spelling(given: object, read: Risk) -> None:
    assert PlanStep.model_validate({"id": "a", "estimated_risk": given}).estimated_risk == read


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("it is short", Criterion(rubric="it is short")),
        ({"cel": "true"}, Criterion(cel="true")),
        ("", None),
        (None, None),
        ({}, None),
    ],
)
def test_a_criterion_is_an_expression_or_a_rubric(given: object, read: Criterion | None) -> None:
    assert PlanStep.model_validate({"id": "a", "success_criteria": given}).success_criteria == read


def test_a_number_is_an_id() -> None:
    assert PlanStep.model_validate({"id": 3}).id == "3"


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"id": ""},
        {"id": "x" * 65},
        {"id": "a", "params": "title=x"},
        {"id": "a", "depends_on": "s1"},
        {"id": "a", "estimated_risk": "enormous"},
        {"id": "a", "approval_mode": "yolo"},
        {"id": "a", "on_failed_dependency": "retry"},
        {"id": "a", "timeout_s": 0},
        {"id": "a", "timeout_s": -1},
        {"id": "a", "timeout_s": True},
        {"id": "a", "timeout_s": float("inf")},
        {"id": "a", "requires": [""]},
        {"id": "a", "needs": ["b"]},
    ],
    ids=str,
)
def test_a_step_of_the_wrong_shape_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        PlanStep.model_validate(wrong)


def test_dependencies_are_declared_by_key_and_by_reference_each_once() -> None:
    plan = Plan.model_validate(
        {
            "steps": [
                {"id": "s1", "context_key": "invoice"},
                {"id": "s2", "depends_on": ["s1"], "inputs": ["invoice", "unknown"]},
                {
                    "id": "s3",
                    "depends_on": ["s2"],
                    "params": {"a": "{{steps.s1.output.x}} {{steps.s2.output}}"},
                },
                {"id": "s4", "inputs": ["s3"]},
            ]
        }
    )
    found = {step.id: plan.dependencies(step) for step in plan.steps}
    assert found == {"s1": (), "s2": ("s1",), "s3": ("s2", "s1"), "s4": ("s3",)}


def test_respond_and_clarify_are_no_work() -> None:
    plan = Plan.model_validate(
        {"steps": [{"id": str(n), "tool": name} for n, name in enumerate(("a.b", "respond", "clarify"))]}
    )
    assert [step.capability for step in plan.work] == ["a.b"]


def base() -> dict[str, Any]:
    return {"goal": "g", "steps": [{"id": "s1", "capability": "text.extract"}, dict(FULL)]}


@pytest.mark.parametrize(
    "change",
    [
        {"id": "s9"},
        {"capability": "tickets.delete"},
        {"params": {"title": "y", "amount": "{{steps.s1.output.value}}"}},
        {"description": "Do something else"},
        {"depends_on": []},
        {"inputs": []},
        {"context_key": "other"},
        {"success_criteria": None},
        {"success_criteria": {"cel": "true"}},
        {"estimated_risk": "Low"},
        {"approval_mode": "destructive"},
        {"on_failed_dependency": "partial"},
        {"on_empty": "end"},
        {"when": ""},
        {"when": "steps.s1.output.value > 1"},
        {"timeout_s": 13},
        {"requires": []},
    ],
    ids=str,
)
def test_the_hash_covers_everything_of_a_step(change: dict[str, Any]) -> None:
    changed = base()
    changed["steps"][1] |= change
    assert Plan.model_validate(changed).plan_hash != Plan.model_validate(base()).plan_hash


@pytest.mark.parametrize(
    "change",
    [{"goal": "another"}, {"on_failed_dependency": "skip"}, {"steps": []}, {"steps": base()["steps"][::-1]}],
    ids=["goal", "cascade", "steps", "their order"],
)
def test_the_hash_covers_what_else_decides_over_the_run(change: dict[str, Any]) -> None:
    assert Plan.model_validate(base() | change).plan_hash != Plan.model_validate(base()).plan_hash


def test_the_hash_does_not_cover_names_and_wording_of_the_plan() -> None:
    renamed = base() | {"plan_id": "plan_9", "revision": 3, "intent": "pay"}
    assert Plan.model_validate(renamed).plan_hash == Plan.model_validate(base()).plan_hash


def test_the_hash_is_the_same_after_a_round_trip_and_for_any_order_of_arguments() -> None:
    plan = Plan.model_validate(base())
    turned = base()
    turned["steps"][1]["params"] = dict(reversed(FULL["params"].items()))
    assert Plan.model_validate_json(plan.model_dump_json()).plan_hash == plan.plan_hash
    assert Plan.model_validate(turned).plan_hash == plan.plan_hash
    assert len(plan.plan_hash) == 64


def test_a_plan_on_record_keeps_its_hash_when_steps_learn_something_new() -> None:
    """The hash is that of 0937eac, before there were hints and compensations: waiting gates name it."""
    step = PlanStep(id="s1", capability="tickets.create", params={"a": 1})
    recorded = "93fac10f864b165ec8de2fc99727f92bf49c1ab2e8f20fa39892b34bb05f0abd"
    assert Plan(goal="g", steps=(step,)).plan_hash == recorded


def test_a_plan_cannot_be_changed_after_its_hash_was_shown() -> None:
    plan = Plan.model_validate(base())
    with pytest.raises(ValidationError, match="frozen"):
        setattr(plan, "goal", "another")  # noqa: B010 - mypy knows that it is frozen


def test_a_changed_copy_has_a_hash_of_its_own_also_after_the_first_was_read() -> None:
    plan = Plan(steps=(PlanStep(id="s1", capability="x"), PlanStep(id="s2", capability="y")))
    before, known = plan.plan_hash, dict(plan.producers)
    copy = plan.model_copy(update={"steps": plan.steps[:1]})
    assert copy.plan_hash == Plan(steps=plan.steps[:1]).plan_hash != before
    assert (copy.producers, known) == ({"s1": "s1"}, {"s1": "s1", "s2": "s2"})
