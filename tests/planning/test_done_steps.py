"""Which steps of a run are done, and how they stand in its next plan."""

from __future__ import annotations

from typing import Any

import pytest

from planwright.domain.plan import Plan, PlanStep
from planwright.domain.results import Finding, RunVerdict, StepResult, StepScore
from planwright.domain.verified_step import VerifiedStep
from planwright.planning.done_steps import (
    ContinuedPlan,
    DoneCall,
    about_others,
    continued,
    done_steps,
    effects_done,
    lost_steps,
    not_made_up_for,
)
from planwright.planning.step_identity import same_work


def step(id_: str, capability: str | None = "notes.write", **more: Any) -> PlanStep:
    return PlanStep.model_validate({"id": id_, "capability": capability, **more})


def entry(planned: PlanStep, *needs: str, effect: str = "idempotent") -> VerifiedStep:
    fixed = {"effect": effect, "mode": "local_write", "risk": "Low", "gated": False}
    return VerifiedStep.model_validate(
        {"step": planned, "uid": f"uid {planned.id}", "needs": [f"uid {need}" for need in needs], **fixed}
    )


def ended(*entries: VerifiedStep, status: str = "completed") -> dict[str, StepResult]:
    return {
        one.uid: StepResult.model_validate(
            {"uid": one.uid, "step_id": one.step.id, "capability": "notes.write", "status": status}
        )
        for one in entries
    }


def refusing(*entries: VerifiedStep) -> RunVerdict:
    marks = {"policy": 1, "utility": 0, "safety": 1, "latency": 1, "cost": 1}
    scores = [StepScore(step_id=e.step.id, uid=e.uid, verdict="replan", **marks) for e in entries]
    return RunVerdict(run_id="r", plan_id="p", verdict="replan", step_scores=tuple(scores))


def after(
    *steps: PlanStep, done: list[VerifiedStep], made: dict[str, DoneCall] | None = None
) -> ContinuedPlan:
    plan = Plan(goal="g", steps=steps)
    return continued(plan, {one.step.id: one for one in done}, made or {})


READ = entry(step("r", "notes.read", params={"name": "a"}), effect="pure")
WRITE = entry(step("w", params={"text": "{{steps.r.output.text}}"}, depends_on=["r", "gone"]), "r", "gone")
OTHER = entry(step("o", params={"text": "b"}))
FOUND = [
    Finding(code=code, step_id=id_, message="m")
    for code, id_ in (("bad_arguments", "o"), ("duplicate_id", "o"), ("cycle", "n"))
]


def test_what_has_ended_well_is_done_and_what_failed_is_not() -> None:
    results = ended(READ, OTHER) | ended(WRITE, status="failed")
    assert [*done_steps([READ, WRITE, OTHER], results, [])] == ["r", "o"]


def test_a_read_that_was_not_accepted_is_done_only_for_what_has_used_it() -> None:
    assert [*done_steps([READ, OTHER], ended(READ, OTHER), [refusing(READ)])] == ["o"]
    assert [*done_steps([READ, WRITE], ended(READ, WRITE), [refusing(READ)])] == ["r", "w"]


def test_an_effect_is_done_whatever_is_thought_of_it() -> None:
    assert [*done_steps([OTHER], ended(OTHER), [refusing(OTHER)])] == ["o"]


def test_what_is_done_stands_in_front_and_waits_for_nothing_that_is_not() -> None:
    whole = after(step("n", params={"text": "{{steps.w.output.text}}"}), done=[READ, WRITE])
    assert [planned.id for planned in whole.plan.steps] == ["r", "w", "n"]
    assert (whole.plan.steps[1].depends_on, whole.done) == (("r",), ("uid r", "uid w"))
    assert same_work(whole.plan.steps[1], WRITE.step)


def test_an_effect_that_is_listed_again_under_its_id_is_the_one_that_is_done() -> None:
    whole = after(step("o", params={"text": "something else"}), done=[OTHER])
    assert whole.plan.steps == (OTHER.step,)
    assert whole.read_as == ("step 'o' is done already, and is kept as it was",)


def test_a_read_is_made_anew_under_its_id_unless_something_done_has_used_it() -> None:
    anew = step("r", "notes.read", params={"name": "b"})
    assert after(anew, done=[READ]).plan.steps == (anew,)
    assert [planned.id for planned in after(anew, done=[READ, WRITE]).plan.steps] == ["r", "w", "r"]


def test_another_capability_under_the_id_of_an_effect_is_left_for_the_rules_to_find() -> None:
    whole = after(step("o", "notes.read"), done=[OTHER])
    assert [planned.id for planned in whole.plan.steps] == ["o", "o"]


def test_last_words_get_an_id_that_is_free() -> None:
    whole = after(step("o", "respond"), done=[OTHER])
    assert [planned.id for planned in whole.plan.steps] == ["o", "respond"]


@pytest.mark.parametrize(
    "params", [{"text": "b"}, {"text": "b", "size": 0}, {"text": "{{steps.r.output.text}}"}]
)
def test_the_same_effect_under_another_id_counts_as_done_under_that_one(params: dict[str, Any]) -> None:
    made = {"o": DoneCall({"text": "b", "size": 0}, None), "r": DoneCall({}, {"text": "b"})}
    whole = after(step("again", params=params), done=[READ, OTHER], made=made)
    assert [planned.id for planned in whole.plan.steps] == ["r", "again"]
    both = after(step("again", params=params), step("n", depends_on=["o"]), done=[READ, OTHER], made=made)
    assert [planned.id for planned in both.plan.steps] == ["r", "o", "again", "n"]


def test_what_an_earlier_plan_did_not_bring_about_and_the_newest_does_not_have_is_lost() -> None:
    results = ended(READ) | ended(WRITE, OTHER, status="failed")
    assert lost_steps([READ, WRITE, OTHER], results, [OTHER]) == [WRITE]


@pytest.mark.parametrize(
    ("capability", "mode", "left"),
    [("notes.write", "local_write", []), ("notes.add", "local_write", []), ("notes.post", "network", ["o"])],
)
def test_a_new_effect_of_its_kind_makes_up_for_one_that_is_missing(
    capability: str, mode: str, left: list[str]
) -> None:
    new = entry(step("n", capability)).model_copy(update={"mode": mode})
    missing = [OTHER, READ]
    assert [e.step.id for e in not_made_up_for(missing, [new], ended(new), [])] == left
    assert not_made_up_for(missing, [new], ended(new), [new.uid]) == [OTHER], "it was done before"
    assert not_made_up_for(missing, [new], ended(new, status="failed"), []) == [OTHER]


def test_of_what_is_found_only_a_taken_id_is_told_of_a_done_step() -> None:
    assert [finding.code for finding in about_others(FOUND, {"o": OTHER})] == ["duplicate_id", "cycle"]


def test_effects_stay_done_unless_a_step_that_they_need_is_another() -> None:
    """Forty steps that each need all before: what they share is looked at once."""
    entries = [entry(step(f"s{n}", params={"n": n}), *(f"s{m}" for m in range(n))) for n in range(40)]
    results = ended(*entries[1:]) | ended(entries[0], status="failed")
    steps = tuple(one.step for one in entries)
    assert effects_done(Plan(steps=steps), entries, results) == {one.uid for one in entries[1:]}
    changed = (steps[0], step("s1", params={"n": "other"}), *steps[2:])
    assert effects_done(Plan(steps=changed), entries, results) == set()
