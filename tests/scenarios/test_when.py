"""A step with a condition runs where that is true, is left out where it is false, and else fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from planwright.capabilities.declaration import capability
from planwright.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

NEVER = {"approval": {"plan": "never"}, "planning": {"mode": "always", "replan_budget": 0}}
MORE, LESS = "steps.s1.output.amount > 1000", "steps.s1.output.amount <= 1000"


class Bill(BaseModel):
    """What is to be paid."""

    amount: int
    """How much."""
    paid: bool
    """Whether it was paid."""
    lines: list[dict[str, int]]
    """What it is for."""
    more: dict[str, Any] = {}
    """What else is known."""


@capability("odd.bill", mode="read_only", trusted_result=True, tags=("bill",))
def bill(amount: int) -> Bill:
    """Read a bill."""
    return Bill(amount=amount, paid=False, lines=[])


def first(amount: int = 250) -> dict[str, Any]:
    """Write the step that reads the bill."""
    return {"id": "s1", "capability": "odd.bill", "params": {"amount": amount}}


def write(id_: str, text: str = "x", **more: Any) -> dict[str, Any]:
    """Write one step that writes something."""
    return {"id": id_, "capability": "work.write", "params": {"name": id_, "text": text}, **more}


def played(scene: Scene, *steps: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Play a plan."""
    agent = scene.agent(scene.plan(*steps), "Done.", capabilities=[bill], **{**NEVER, **options})
    return scene.ask(agent)


def ends(scene: Scene) -> dict[str, tuple[str, str, str]]:
    """Read how each step ended, by which code, and why."""
    query = "SELECT json_extract(result, '$.step_id') AS id, status, json_extract(result, '$.code') AS code"
    rows = scene.rows(f"{query}, json_extract(result, '$.error') AS error FROM steps")
    return {row["id"]: (row["status"], row["code"] or "", row["error"] or "") for row in rows}


@pytest.mark.parametrize("order", ["dataflow", "waves"])
@pytest.mark.parametrize(("amount", "ran"), [(1001, "s2"), (1000, "s3"), (0, "s3")])
def test_of_two_branches_the_one_runs_whose_condition_is_true(
    scene: Scene, amount: int, ran: str, order: str
) -> None:
    steps = [first(amount), write("s2", when=MORE), write("s3", when=LESS), write("s4")]
    output = played(scene, *steps, execution={"order": order})
    assert (output["status"], sorted(scene.done)) == ("completed_with_skips", sorted([f"{ran}:x", "s4:x"]))
    (left,) = {"s2", "s3"} - {ran}
    compared = "more than" if left == "s2" else "at most"
    seen = f"the amount of step 1 is {amount}"
    why = f"its condition does not hold: the amount of step 1 is {compared} 1000; {seen}"
    assert ends(scene)[left] == ("skipped", "condition_not_met", why)
    told = [event["data"] for event in scene.journal() if event["type"] == "plan_step_skipped"]
    assert [(event["step_id"], event["error"]) for event in told] == [(left, why)]


def test_what_needs_a_step_that_is_left_out_follows_by_its_cascade(scene: Scene) -> None:
    output = played(
        scene,
        first(),
        write("s2", when=MORE),
        write("s3", depends_on=["s2"]),
        write("s4", depends_on=["s1", "s2"]),
        write("s5", depends_on=["s1", "s2"], on_failed_dependency="skip"),
        write("s6", "{{steps.s2.output.text}}", depends_on=["s1"]),
        write("s7", when="steps.s2.output.text == 'x'"),
    )
    assert (output["status"], scene.done) == ("completed_with_skips", ["s4:x"])
    needs = ("skipped", "dependency_failed", "it needs s2, which did not succeed")
    assert {id_: end for id_, end in ends(scene).items() if id_ in ("s3", "s5", "s6", "s7")} == dict.fromkeys(
        ("s3", "s5", "s6", "s7"), needs
    )


@pytest.mark.parametrize(
    ("when", "why"),
    [
        ("steps.s1.output.more.total > 1", "cannot be evaluated: there is no 'total'"),
        ("steps.s1.output.paid > 1", "cannot be evaluated: No such overload"),
        ("steps.s1.output.amount + 1", "is 251, neither true nor false"),
        ("steps.s1.output.amount / 0 > 1", "cannot be evaluated: "),
    ],
)
def test_a_condition_that_cannot_be_evaluated_lets_nothing_run(scene: Scene, when: str, why: str) -> None:
    output = played(scene, first(), write("s2", when=when), write("s3", depends_on=["s2"]))
    assert (output["status"], scene.done) == ("interrupted", [])
    status, code, error = ends(scene)["s2"]
    assert (status, code) == ("failed", "condition_failed")
    assert error.startswith(f"its condition `{when}` {why}")
    assert error.endswith(", so it was not run; mend the condition, or what s1 brings")
    assert ends(scene)["s3"][:2] == ("skipped", "dependency_failed")


def test_a_condition_over_a_step_that_brought_nothing_lets_nothing_run(scene: Scene) -> None:
    both = "steps.s2.output.text == 'x' || steps.s1.output.amount > 0"
    output = played(scene, first(), write("s2", when=MORE), write("s3", when=both))
    assert (output["status"], scene.done) == ("interrupted", [])
    assert ends(scene)["s3"] == (
        "failed",
        "condition_failed",
        f"its condition `{both}` reads s2, which did not succeed, so it was not run;"
        " mend the condition, or what s2, s1 brings",
    )


def test_a_condition_over_the_first_of_nothing_is_no_failure(scene: Scene) -> None:
    output = played(scene, first(), write("s2", when="steps.s1.output.lines[0].seats > 3"), write("s3"))
    assert (output["status"], scene.done) == ("completed_with_skips", ["s3:x"])
    assert ends(scene)["s2"][:2] == ("skipped", "nothing_found")


def test_the_answer_says_why(scene: Scene) -> None:
    model = ScriptedModel(replies=[scene.plan(first(), write("s2", when=MORE)), "It was less."])
    scene.ask(scene.agent(model=model, capabilities=[bill], **NEVER))
    assert len(model.prompts) == 2
    told = "".join(message.text for message in model.prompts[-1])
    assert "its condition does not hold: the amount of step 1 is more than 1000" in told
