"""Model hints: how they may be written, what they ask for, and when they are part of a plan's hash."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from pydantic import ValidationError

from planwright.domain.model_hint import ModelHint
from planwright.domain.plan import Plan, PlanStep
from planwright.nodes.intake.capability_routing import asked_by
from planwright.planning.step_identity import uid_of

REASONING = ModelHint(requires_reasoning="required")
AGENTIC = {"id": "s1", "description": "Think", "tool_hints": ["mail.search"]}
DIRECT = {"id": "s1", "capability": "mail.search", "params": {"query": "x"}}


def read(hint: Any) -> ModelHint | None:
    return PlanStep.model_validate({"id": "s1", "model_hint": hint}).model_hint


def plan(step: dict[str, Any], **more: Any) -> Plan:
    return Plan.model_validate({"goal": "g", "steps": [{**step, **more}]})


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"requires_reasoning": True}, REASONING),
        ({"requiresReasoning": True}, REASONING),
        ({"requires_reasoning": "required"}, REASONING),
        ({"requiresReasoning": "Required"}, REASONING),
        ({"reasoning": True}, REASONING),
        ("reasoning", REASONING),
        ("requiresReasoning", REASONING),
        ("requires reasoning", REASONING),
        (["reasoning"], REASONING),
        ({"requires_reasoning": True, "requires_code": False, "requires_vision": None}, REASONING),
        ({"requiresReasoning": "preferred"}, ModelHint(requires_reasoning="preferred")),
        (
            ["code", "requires_vision", "functionCalling", "streaming"],
            ModelHint(
                requires_code="required",
                requires_vision="required",
                requires_function_calling="required",
                requires_streaming="required",
            ),
        ),
        (
            {"requiresFunctionCalling": "preferred"},
            ModelHint(requires_function_calling="preferred"),
        ),
        ({"minContext": 100_000}, ModelHint(min_context=100_000)),
        (
            {"min_context": 8, "preferredContext": 16},
            ModelHint(min_context=8, preferred_context=16),
        ),
        (REASONING, REASONING),
    ],
    ids=str,
)
def test_a_hint_is_read_in_the_spellings_of_the_seeds(written: Any, meant: ModelHint) -> None:
    assert read(written) == meant


@pytest.mark.parametrize(
    "empty", [None, {}, [], {"requires_code": False}, {"min_context": None}, ModelHint()]
)
def test_a_hint_that_asks_for_nothing_is_none(empty: Any) -> None:
    assert read(empty) is None


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"requires_telepathy": True}, "a model hint knows no 'requires_telepathy', only requires_reasoning"),
        ("telepathy", "a model hint knows no 'telepathy'"),
        ({"requires_reasoning": "maybe"}, '`requires_reasoning` is true, "required" or "preferred", not'),
        ({"requires_reasoning": 1}, '`requires_reasoning` is true, "required" or "preferred", not 1'),
        ({"requires_reasoning": True, "requiresReasoning": "preferred"}, "stands there twice"),
        ({"min_context": 0}, "greater than or equal to 1"),
        ({"min_context": True}, "valid integer"),
        ({"min_context": "many"}, "valid integer"),
        ({"preferred_context": {"tokens": 5}}, "valid integer"),
        (7, "a model hint is an object like"),
        ({3: True}, "a model hint knows no '3'"),
    ],
    ids=str,
)
def test_a_hint_that_nobody_understands_is_refused_in_words(wrong: Any, says: str) -> None:
    with pytest.raises(ValidationError, match="model_hint") as refused:
        read(wrong)
    assert says in str(refused.value)


def test_a_hint_is_stored_as_short_as_it_was_said_and_read_back_the_same() -> None:
    step = PlanStep.model_validate({**AGENTIC, "model_hint": {"requiresCode": "preferred", "minContext": 9}})
    stored = step.model_dump(mode="json")
    assert stored["model_hint"] == {"requires_code": "preferred", "min_context": 9}
    assert PlanStep.model_validate(stored) == step


@pytest.mark.parametrize(
    ("hint", "capabilities", "context", "lacks", "misses"),
    [
        ({}, (), 1, (), ()),
        ({"reasoning": True}, ("reasoning",), 1, (), ()),
        ({"reasoning": True}, ("code", "vision"), 1, ("reasoning",), ()),
        ({"reasoning": "preferred"}, ("code",), 1, (), ("reasoning",)),
        (
            {"code": "preferred", "vision": True, "reasoning": True},
            (),
            1,
            ("reasoning", "vision"),
            ("code",),
        ),
        ({"min_context": 10}, (), 10, (), ()),
        ({"min_context": 10_000}, (), 9_999, ("a context of 10,000 tokens",), ()),
        ({"preferred_context": 10}, (), 9, (), ("a context of 10 tokens",)),
        ({"min_context": 5, "preferred_context": 10}, (), 7, (), ("a context of 10 tokens",)),
        (["function_calling", "streaming"], ("streaming", "function_calling"), 1, (), ()),
    ],
)
def test_what_a_model_lacks_is_named_apart_from_what_it_misses(
    hint: Any, capabilities: tuple[str, ...], context: int, lacks: tuple[str, ...], misses: tuple[str, ...]
) -> None:
    asked = read(hint) or ModelHint()
    assert asked.unmet("required", capabilities, context) == lacks
    assert asked.unmet("preferred", capabilities, context) == misses


def test_the_hint_of_an_agentic_step_is_part_of_the_hash() -> None:
    bare, hinted = plan(AGENTIC), plan(AGENTIC, model_hint="reasoning")
    preferred = plan(AGENTIC, model_hint={"reasoning": "preferred"})
    assert len({bare.plan_hash, hinted.plan_hash, preferred.plan_hash}) == 3
    assert plan(AGENTIC, modelHint={"requiresReasoning": True}).plan_hash == hinted.plan_hash


def test_the_hint_of_a_fixed_call_is_kept_and_changes_nothing() -> None:
    bare, hinted = plan(DIRECT), plan(DIRECT, model_hint="reasoning")
    assert hinted.steps[0].model_hint == REASONING
    assert hinted.steps[0].routed_by is None
    assert hinted.plan_hash == bare.plan_hash


@pytest.mark.parametrize(
    ("content", "asks"),
    [
        ("Look at image_url", False),
        ([{"type": "text", "text": "no image"}, "plain"], False),
        ([{"type": "image", "base64": "x", "mime_type": "image/png"}], True),
        ([{"type": "text", "text": "this"}, {"type": "image_url", "image_url": {"url": "u"}}], True),
        ([{"type": "input_image", "image_url": "u"}], True),
    ],
)
def test_a_conversation_asks_for_eyes_where_there_is_an_image_in_it(content: Any, asks: bool) -> None:
    asked = asked_by([HumanMessage("before"), HumanMessage(content), AIMessage("after")])
    assert asked == (ModelHint(requires_vision="preferred") if asks else None)


def test_a_step_whose_hint_changes_is_another_step() -> None:
    uids = {
        uid_of("run", PlanStep.model_validate({**AGENTIC, "model_hint": hint}), (), 0)
        for hint in (None, "reasoning", {"reasoning": "preferred"}, "code")
    }
    assert len(uids) == 4
    same = {
        uid_of("run", PlanStep.model_validate({**DIRECT, "model_hint": h}), (), 0) for h in (None, "code")
    }
    assert len(same) == 1
