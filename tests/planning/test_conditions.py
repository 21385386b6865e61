"""A condition names earlier steps and leads somewhere, or is refused; steps without one keep their hashes."""

from __future__ import annotations

from typing import Any

import pytest

from planwright.critic.facts import StepFacts, facts_hash
from planwright.domain.plan import Plan, PlanStep
from planwright.domain.results import StepResult
from planwright.domain.verified_step import VerifiedStep
from planwright.planning.conditions import barred
from planwright.planning.rules import check
from planwright.planning.step_identity import uid_of
from planwright.planning.taint import tainted_steps
from tests.planning.plan_world import REGISTRY, rules

READ = {"id": "s1", "capability": "notes.read", "params": {"name": "a"}}


def write(id_: str, when: str, **more: Any) -> dict[str, Any]:
    """Write a step under a condition."""
    return {
        "id": id_,
        "capability": "notes.write",
        "params": {"name": "b", "text": "x"},
        "when": when,
        **more,
    }


def flaws(*steps: dict[str, Any]) -> list[tuple[str, str, str]]:
    """List what is wrong with a plan: code, message and fix."""
    plan = Plan.model_validate({"steps": steps})
    return [(finding.code, finding.message, finding.fix) for finding in check(plan, rules())]


@pytest.mark.parametrize(
    "when",
    [
        "steps.s1.output.size > 1000",
        "steps.s1.output.size > 1000 && steps.s1.output.text.contains('steps.s1.output')",
        'steps["s1"].output.text.size() > 3',
        "has(steps.s1.output.text)",
        " steps.s1.output.size in [1, 2] ",
    ],
)
def test_a_condition_over_earlier_steps_is_taken_and_waits_for_them(when: str) -> None:
    assert flaws(READ, write("s2", when)) == []
    plan = Plan.model_validate({"steps": [READ, write("s2", when)]})
    assert plan.dependencies(plan.steps[1]) == ("s1",)


@pytest.mark.parametrize(
    ("when", "code", "message", "fix"),
    [
        ("steps.s9.output.size > 1", "unknown_dependency", "there is no step s9", "name one of s1, s2, s3"),
        (
            "steps.s3.output.size > 1",
            "forward_reference",
            "it refers to s3, which does not come before it",
            "put",
        ),
        (
            "steps.s2.output.size > 1",
            "forward_reference",
            "it refers to s2, which does not come before it",
            "put",
        ),
        (
            "steps.s1.output.size >",
            "bad_arguments",
            "its condition is not CEL: it breaks at character 23",
            "e.g.",
        ),
        (
            "{{steps.s1.output.size}} > 1",
            "bad_arguments",
            "its condition is not CEL: ",
            "e.g. steps.s1.output.count",
        ),
        ("output.size > 1", "bad_arguments", "its condition there is no `output`; there are steps", "e.g."),
        (
            "sized(steps.s1.output.text)",
            "bad_arguments",
            "its condition there is no function `sized`",
            "e.g.",
        ),
        ("true", "bad_arguments", "its condition reads no step", "leave `when` out"),
        ("steps.size() > 0", "bad_arguments", "its condition says steps", "write steps.<id>.output.<path>"),
        (
            "steps.s1.size > 0",
            "bad_arguments",
            "its condition says steps.s1.size",
            "write steps.<id>.output.<path>",
        ),
        (
            "steps.s1.output.sice > 0",
            "bad_arguments",
            "its condition leads nowhere: s1 returns no 'sice'",
            "it returns: text, size",
        ),
        (
            "steps.s1.output.size",
            "bad_arguments",
            "its condition is integer, neither true nor false",
            "compare it",
        ),
        (
            f"steps.s1.output.size > {'1' * 2000}",
            "bad_arguments",
            "its condition has 2,023 characters, 2,000 are",
            "e.g.",
        ),
    ],
)
def test_any_other_condition_is_refused_in_words_that_mend_it(
    when: str, code: str, message: str, fix: str
) -> None:
    found = flaws(READ, write("s2", when), write("s3", "", params={"name": "c", "text": "y"}))
    assert any(
        finding[0] == code and finding[1].startswith(message) and finding[2].startswith(fix)
        for finding in found
    ), found


def test_last_words_have_no_condition() -> None:
    last = {"id": "r", "capability": "respond", "when": "steps.s1.output.size > 1"}
    assert ("bad_arguments", "last words have no condition", "leave `when` out") in flaws(READ, last)


def test_what_others_wrote_decides_over_a_call_and_so_taints_it() -> None:
    plan = Plan.model_validate({"steps": [READ, write("s2", "steps.s1.output.text == 'x'"), write("s3", "")]})
    assert tainted_steps(plan, REGISTRY, opening=False) == {"s2"}


def test_a_condition_costs_no_more_than_others_may() -> None:
    inner = "true"
    for name in "abcdefg":
        inner = f"steps.s1.output.all({name}, {inner})"
    checked = VerifiedStep(
        step=PlanStep.model_validate(write("s2", inner)),
        uid="step_2",
        needs=("step_1",),
        effect="idempotent",
        mode="local_write",
        risk="Low",
        gated=False,
    )
    result = barred(checked, {"s1": {"output": list(range(60))}}, "")
    assert result is not None
    assert (result.status, result.code) == ("failed", "condition_failed")


def test_a_step_without_a_condition_keeps_the_hashes_that_are_on_record() -> None:
    """The hashes are those of 450439bf, before there were conditions."""
    step = PlanStep(
        id="s2",
        capability="tickets.create",
        params={"title": "{{steps.s1.output.text}}"},
        depends_on=("s1",),
        on_empty="end",
    )
    verified = VerifiedStep(
        step=step,
        uid="step_2",
        needs=("step_1",),
        effect="blind",
        mode="local_write",
        risk="Low",
        gated=False,
    )
    result = StepResult(
        uid="step_2", step_id="s2", capability="tickets.create", status="completed", output={"id": 1}
    )

    def hashes(step: PlanStep) -> tuple[str, str, str]:
        plan = Plan(goal="g", steps=(PlanStep(id="s1", capability="tickets.list"), step))
        facts = StepFacts(checked=verified.model_copy(update={"step": step}), result=result, limit_s=120)
        return plan.plan_hash, uid_of("run_1", step, ("step_1",), 0), facts_hash([facts])

    before = hashes(step)
    assert before == (
        "1c571d6486783590e76abf662615628697348151e03dd0c558a59cd68c0c561f",
        "step_e4a7951f637bacc0",
        "af475b6005f54dbb8b5a9c377ab8fee48095d3e4c63c98a64f0bb920e61d78f9",
    )
    one, other = (hashes(step.model_copy(update={"when": f"steps.s1.output.n > {n}"})) for n in (1, 2))
    assert all(len({*three}) == 3 for three in zip(before, one, other, strict=True))
