"""The evaluators and the rules over them: floors, budgets, retries, and what nobody judged."""

from __future__ import annotations

from typing import Any

import pytest

from planwright.critic.evaluators import EVALUATORS
from planwright.critic.facts import StepFacts, facts_hash
from planwright.critic.gathering import needing, retried, retries_of
from planwright.critic.ruling import Means, run_verdict, score_step
from planwright.domain.envelope import EffectRecord, LaneCall, LaneEnvelope
from planwright.domain.plan import PlanStep
from planwright.domain.results import RubricAnswer, RunVerdict, StepResult, StepScore
from planwright.domain.risk import Risk
from planwright.domain.verified_step import VerifiedStep

MEANS = Means(replans=1, retries=1)
DONE = EffectRecord(
    key="k" * 64, uid="u1", capability="channel.post", status="done", decided="person", needed=True
)


def step(uid: str = "u1", *needs: str, risk: Risk = "Low", **more: Any) -> VerifiedStep:
    fixed = {"uid": uid, "needs": needs, "effect": "pure", "mode": "read_only", "risk": risk, "gated": False}
    return VerifiedStep.model_validate({"step": PlanStep(id="s1", capability="work.read", **more), **fixed})


def facts(**more: Any) -> StepFacts:
    """Know of one step that ended well after one of ten seconds, unless `more` says otherwise."""
    result = {"uid": "u1", "step_id": "s1", "capability": "work.read", "status": "completed", "seconds": 1}
    result |= more.pop("result", {})
    fixed = {"checked": step(**more.pop("step", {})), "limit_s": 10, "output": {"count": 3}}
    return StepFacts.model_validate({**fixed, "result": StepResult.model_validate(result), **more})


def score(given: StepFacts, means: Means = MEANS) -> StepScore:
    return score_step(given, means)


def grades(given: StepFacts) -> dict[str, str]:
    return {one.evaluator: one.grade for one in score(given).evaluations}


UNMET: dict[str, Any] = {"step": {"success_criteria": {"cel": "output.count > 5"}}}
RUBRIC: dict[str, Any] = {"step": {"success_criteria": "it names every count"}}


def test_a_step_that_did_what_it_was_for_passes_all_five() -> None:
    assert grades(facts(effects=[DONE])) == dict.fromkeys(
        ("policy", "utility", "safety", "latency", "cost"), "pass"
    )
    assert score(facts(effects=[DONE])).verdict == "ok"


FLOORS: dict[str, tuple[dict[str, Any], str]] = {
    "nobody decided over an effect that asks": ({"decided": ""}, "policy"),
    "an effect of no step on record": ({"known": False}, "policy"),
    "an effect in doubt": ({"status": "in_doubt"}, "safety"),
    "an effect that was begun, and nothing more": ({"status": "intent"}, "safety"),
}


@pytest.mark.parametrize(("given", "evaluator"), FLOORS.values(), ids=FLOORS)
def test_a_broken_floor_is_never_accepted_nor_run_again(given: dict[str, Any], evaluator: str) -> None:
    broken = facts(effects=[DONE.model_copy(update=given)])
    marked = score(broken, Means(replans=9, retries=9, step_retries=9))
    assert {one.evaluator for one in marked.evaluations if one.grade == "fail"} == {evaluator}
    assert (marked.floor_broken, marked.verdict) == (True, "escalate")
    assert run_verdict([broken.result], [marked])[0] == "escalate"


@pytest.mark.parametrize("code", ["rejected", "forbidden", "in_doubt", "undecided"])
def test_a_no_and_a_doubt_are_final(code: str) -> None:
    failed = facts(result={"status": "failed", "code": code, "error": "no"})
    assert score(failed, Means(replans=9, retries=9)).verdict == "escalate"


def lane(*ended: str, trips: tuple[str, ...] = ()) -> dict[str, Any]:
    calls = tuple(LaneCall(capability="work.read", ended=one) for one in ended)
    return {"result": {"envelope": LaneEnvelope(result="done", calls=calls, guard_trips=trips)}}


UNASKED = {"decided": "", "needed": False, "tainted": True, "risk": "Low"}
WARNED: dict[str, tuple[dict[str, Any], str, str]] = {
    "denied": (lane("denied", "completed"), "policy", "it was denied work.read"),
    "tripped": (
        lane("completed", trips=("ping_pong:warning",)),
        "safety",
        "the loop guard noticed ping_pong:warning",
    ),
    "wasted": (lane("failed", "completed"), "cost", "1 of 2 calls came to nothing"),
    "tried twice": ({"result": {"attempts": 2}}, "cost", "it took 2 attempts"),
    "slow": ({"result": {"seconds": 9.5}}, "latency", "it took 9.5 s of 10 s"),
    "partial": ({"result": {"missing": ("s0",)}}, "utility", "it had to do without s0"),
    "tainted": (
        {
            "effects": [
                DONE.model_copy(update={"decided": "", "needed": False, "tainted": True, "risk": "Low"})
            ]
        },
        "safety",
        "was made after reading what others wrote, and nobody was asked",
    ),
    "not judged": (RUBRIC, "utility", "not judged: it names every count"),
}


@pytest.mark.parametrize(("given", "evaluator", "found"), WARNED.values(), ids=WARNED)
def test_what_is_noticed_is_said_and_does_not_refuse(
    given: dict[str, Any], evaluator: str, found: str
) -> None:
    marked = score(facts(**given))
    (noticed,) = [one for one in marked.evaluations if one.evaluator == evaluator]
    assert noticed.grade == "warn"
    assert any(found in note for note in noticed.findings)
    assert marked.verdict == "ok"


def test_an_unmet_criterion_is_tried_again_once_then_planned_anew_then_put_before_a_person() -> None:
    assert score(facts(**UNMET)).verdict == "retry"
    assert score(facts(**UNMET, retries=1)).verdict == "replan"
    assert score(facts(**UNMET, retries=1), Means(replans=0, retries=1)).verdict == "escalate"
    assert score(facts(**UNMET), Means(replans=1, retries=0)).verdict == "replan"


@pytest.mark.parametrize(
    "done", [{"effects": [DONE]}, {"built_on": True}, {"result": {"kept_from": "run_1"}}]
)
def test_what_has_changed_something_is_never_run_again(done: dict[str, Any]) -> None:
    assert score(facts(**{**UNMET, **done})).verdict == "replan"


@pytest.mark.parametrize("flaw", ["no_effect", "no_evidence", "refused_in_words"])
def test_a_lane_that_did_nothing_is_run_again(flaw: str) -> None:
    failed = {"status": "failed", "code": flaw, "error": "it did nothing"}
    assert score(facts(result=failed)).verdict == "retry"
    assert score(facts(result=failed, effects=[DONE])).verdict == "replan"


@pytest.mark.parametrize(
    ("risk", "strict_from", "ruling"),
    [("Low", "Medium", "ok"), ("Medium", "Medium", "escalate"), ("Critical", "High", "escalate")]
    + [("High", None, "ok"), ("None", "None", "escalate")],
)
def test_what_nobody_judged_passes_below_the_strictness(
    risk: Risk, strict_from: Risk | None, ruling: str
) -> None:
    given = facts(step={**RUBRIC["step"], "risk": risk})
    marked = score(given, Means(strict_from=strict_from))
    assert (marked.verdict, marked.not_judged) == (ruling, "it names every count")


def test_what_a_model_says_of_a_criterion_in_words_counts() -> None:
    met, unmet = RubricAnswer(holds=True), RubricAnswer(holds=False, reason="two are missing")
    strict = {**RUBRIC["step"], "risk": "High"}
    assert score(facts(step=strict, rubric=met)).verdict == "ok"
    marked = score(facts(step=strict, rubric=unmet))
    assert (marked.verdict, marked.not_judged) == ("retry", "")
    assert "two are missing" in run_verdict([facts().result], [marked])[1]


def test_the_gravest_verdict_of_a_step_is_that_of_the_run() -> None:
    retry, replan = score(facts(**UNMET)), score(facts(**UNMET, retries=1))
    escalate = score(facts(effects=[DONE.model_copy(update={"known": False})]))
    ok, result = score(facts()), facts().result
    for scores, ruling in (
        ([ok, ok], "accept"),
        ([ok, retry], "retry"),
        ([retry, replan], "replan"),
        ([replan, escalate], "escalate"),
    ):
        assert run_verdict([result, result], scores)[0] == ruling


def test_the_same_facts_have_the_same_hash_and_the_same_score_and_others_another() -> None:
    assert facts_hash([facts()]) == facts_hash([StepFacts.model_validate_json(facts().model_dump_json())])
    assert facts_hash([facts()]) != facts_hash([facts(effects=[DONE])])
    assert score(facts(**UNMET)) == score(facts(**UNMET))
    assert len(EVALUATORS) == 5


def test_what_the_critic_had_run_again_counts_as_failed_and_as_a_retry() -> None:
    marked = score(facts(**UNMET))
    verdicts = {"p": RunVerdict(run_id="r", plan_id="p", verdict="retry", step_scores=(marked,))}
    again = retried(verdicts, {"u1": facts().result, "u2": facts().result})
    assert {uid: (one.status, one.code) for uid, one in again.items()} == {
        "u1": ("failed", "criteria_not_met")
    }
    assert (retries_of("s1", verdicts), retries_of("s2", verdicts)) == (1, 0)
    assert (
        retried({"p": verdicts["p"].model_copy(update={"verdict": "replan"})}, {"u1": facts().result}) == {}
    )


def test_what_builds_on_a_step_is_found_over_steps_between() -> None:
    checked = [step("a"), step("b", "a"), step("c", "b"), step("d")]
    assert needing("a", checked) == {"b", "c"}
