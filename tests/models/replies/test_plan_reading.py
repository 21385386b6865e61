"""A plan that somebody wrote: every key means something, or is an error that names it."""

from __future__ import annotations

from typing import Any

import pytest

from planwright.domain.errors import PlanInvalid
from planwright.domain.plan import Plan
from planwright.models.replies.plan_keys import STEP, squeezed
from planwright.models.replies.plan_reading import MOST_STEPS, read_plan

ORDERED: list[dict[str, Any]] = [
    {"id": "a", "capability": "x.y"},
    {"id": "b", "capability": "x.z", "depends_on": ["a"]},
]


def plan(*steps: Any, **more: Any) -> dict[str, Any]:
    return {"goal": "g", "steps": list(steps), **more}


@pytest.mark.parametrize("key", sorted(STEP.synonyms["depends_on"].split()))
def test_an_order_is_read_under_every_word_for_it_and_told(key: str) -> None:
    written = {"id": "b", "capability": "x.z", key: ["a"]}
    found, read_as = read_plan(plan(ORDERED[0], written))
    assert found == Plan.model_validate(plan(*ORDERED))
    assert read_as == (f"step 'b': `{key}` is read as `depends_on`",)


@pytest.mark.parametrize("name", sorted(STEP.synonyms))
def test_every_synonym_means_its_field_in_any_spelling(name: str) -> None:
    for word in STEP.synonyms[name].split():
        spelled = [word, word.title().replace("_", ""), word.replace("_", "-"), word.upper()]
        assert {STEP.field(key) for key in spelled} == {name}


def test_no_word_means_two_fields() -> None:
    words = [squeezed(word) for listed in STEP.synonyms.values() for word in listed.split()]
    assert len(words) == len(set(words))
    assert not set(words) & {squeezed(key) for key in STEP.official}


def test_spellings_of_a_field_are_read_without_a_word_about_it() -> None:
    _, read_as = read_plan(plan({"id": "a", "toolName": "x.y", "dependsOn": [], "timeoutS": 3}))
    assert read_as == ()


@pytest.mark.parametrize(
    ("written", "says"),
    [
        (plan({"id": "a", "reqires": ["f"]}), "step 'a' has no field `reqires`: did you mean `requires`?"),
        (plan({"id": "a", "approved": True}), "step 'a' has no field `approved`"),
        (plan({"id": "a", "if": "x"}), "step 'a' has no field `if`: there are id, capability"),
        (plan({"capability": "x.y", "zz": 1}), "step 1 has no field `zz`"),
        (plan(approved=True), "the plan has no field `approved`"),
        (
            plan({"id": "a", "success_criteria": {"cell": "true"}}),
            "success_criteria has no field `cell`",
        ),
        (plan({"id": "a", "compensation": {"tool": "x", "when": 1}}), "compensation has no field `when`"),
        (plan({"id": "a", "model_hint": {"telepathy": True}}), "a model hint knows no 'telepathy'"),
        (
            plan(decision_checkpoints=[{"decision_id": "d", "after_step": "a", "outcome": "yes"}]),
            "decision checkpoint 1 has no field `outcome`",
        ),
        (plan({"id": "a", "needs": ["b"], "depends_on": []}), "says `depends_on` twice, and not the same"),
        (plan({"id": "a", "tool": "x.y", "capability": "x.z"}), "says `capability` twice"),
        (plan({"id": "a", "step": 2}), "is number 2 and stands at 1"),
        (plan({"id": "a"}, {"capability": "x.y"}), "step 2 has no `id`"),
        (plan("a"), "step 1 is no object"),
        ({"goal": "g"}, "no list `steps`"),
        (plan(*[{}] * (MOST_STEPS + 1)), "has 1,001 steps"),
        ({"steps": {"a": {"id": "b"}}}, "step 'a' names itself 'b'"),
        (plan({"id": "a", "timeout_s": True}), "timeout_s"),
        (plan({"id": "a", "description": "d", "name": "n"}), "step 'a' has no field `name`"),
        (
            plan({"id": "a", "expected_output": "A"}, {"id": "b", "inputs": [{"B": "a"}]}),
            "step 'b' takes B from 'a', which brings A",
        ),
    ],
    ids=lambda value: None if isinstance(value, dict) else str(value)[:40],
)
def test_what_means_nothing_goes_back_to_whoever_wrote_it(written: Any, says: str) -> None:
    with pytest.raises(PlanInvalid) as refused:
        read_plan(written)
    assert says in refused.value.cause


def test_all_that_is_wrong_is_named_at_once() -> None:
    with pytest.raises(PlanInvalid) as refused:
        read_plan(plan({"id": "a", "foo": 1}, {"id": "b", "bar": 2}))
    assert "`foo`" in refused.value.cause
    assert "`bar`" in refused.value.cause


def test_the_literal_plan_of_an_orchestrator_that_names_steps_by_their_context_key_is_read() -> None:
    steps = [
        {
            "context_key": "sf_weather",
            "capability": "current_weather",
            "task_objective": "Get it",
            "inputs": [],
        },
        {"context_key": "reply", "capability": "respond", "inputs": [{"WEATHER": "sf_weather"}]},
    ]
    found, _ = read_plan({"steps": steps})
    assert [step.id for step in found.steps] == ["sf_weather", "reply"]
    assert (found.steps[0].expected_output, found.steps[1].inputs) == ("WEATHER", ("sf_weather",))
    assert found.dependencies(found.steps[1]) == ("sf_weather",)


def test_a_remark_plans_nothing_and_is_told() -> None:
    found, read_as = read_plan({"reasoning": "first a", **plan({"id": "a", "thought": "hm", "tool": "x.y"})})
    assert found == Plan.model_validate(plan({"id": "a", "tool": "x.y"}))
    assert len(read_as) == 2
    with pytest.raises(PlanInvalid):
        read_plan(plan({"id": "a", "reasoning": ["only after b"]}))


def test_what_is_null_is_not_said() -> None:
    empty = dict.fromkeys(("params", "depends_on", "tool_hints", "description", "timeout_s", "requires"))
    found, read_as = read_plan(plan({"id": "a", "tool": "x.y", **empty}, decision_checkpoints=None))
    assert (found, read_as) == (Plan.model_validate(plan({"id": "a", "tool": "x.y"})), ())


@pytest.mark.parametrize(
    "beside",
    [{"Plan": plan(ORDERED[1])}, {"analysis": plan(ORDERED[1])}, {"Thoughts": [ORDERED[1]]}],
    ids=str,
)
def test_of_two_plans_in_one_reply_none_is_left_out(beside: dict[str, Any]) -> None:
    with pytest.raises(PlanInvalid):
        read_plan({"plan": plan(ORDERED[0]), **beside})


@pytest.mark.parametrize("remark", ["I look first", None], ids=str)
def test_a_remark_in_words_may_stand_beside_a_plan_in_its_wrapper(remark: str | None) -> None:
    assert read_plan({"plan": plan(ORDERED[0]), "analysis": remark}).plan.steps[0].id == "a"
