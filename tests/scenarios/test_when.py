"""A step with a condition runs where that is true, is left out where it is false, and else fails."""

from __future__ import annotations

import io
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel
from rich.console import Console

from planwright.capabilities.declaration import capability
from planwright.cli.views.plan_card import plan_view
from planwright.domain.errors import GateError
from planwright.extras.audit.replay import replay_run
from planwright.extras.web.view_models.edit_form import edit_of, edited_steps
from planwright.models.scripted import ScriptedModel
from planwright.store.blobs import Blobs
from tests.docs.pages import blocks
from tests.opened_store import opened_store

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


def shown(output: dict[str, Any]) -> dict[str, Any]:
    """Read the card of the plan that a run waits with."""
    (asked,) = output["__interrupt__"]
    card: dict[str, Any] = asked.value["shown"]
    return card


ASKS = {"approval": {"order": "plan_first"}}
BOTH = (
    first(),
    write("s2", when=MORE, estimated_risk="Medium"),
    write("s3", when=LESS, estimated_risk="Medium"),
)


def test_both_branches_stand_on_the_card_in_words(scene: Scene) -> None:
    card = shown(played(scene, *BOTH, **ASKS))
    words = "the amount of step 1 is more than 1000"
    assert [(step.get("when"), step.get("only_if")) for step in card["steps"]] == [
        (None, None),
        (MORE, words),
        (LESS, "the amount of step 1 is at most 1000"),
    ]
    assert card["steps"][1]["after"] == ["s1"]
    told = io.StringIO()
    Console(file=told, width=200).print(plan_view(card, whole=True))
    printed = " ".join(told.getvalue().split())
    assert f"only if {words}" in printed
    assert f"when: {MORE}" in printed
    assert "Write something down (2 times) (only if a condition holds) plan" in printed
    assert "; 2 of 3 only if a condition holds" in printed


def test_an_edit_changes_a_condition_and_takes_it_away(scene: Scene) -> None:
    agent = scene.agent(scene.plan(*BOTH), "Done.", capabilities=[bill], **{**NEVER, **ASKS})
    card = shown(scene.ask(agent))
    form = {value.field: [value.text] for step in edited_steps(card, {}) for value in step.values}
    form |= {"param-2-when": ["steps.s1.output.amount > 100"], "param-3-when": [" "]}
    action = {"name": "approve_plan", "args": {"plan": edit_of(form, card)}}
    output = scene.answer(agent, {"decisions": [{"type": "edit", "edited_action": action}]})
    again = shown(output)
    assert [step.get("when") for step in again["steps"]] == [None, "steps.s1.output.amount > 100", None]
    assert f'changed s3 when: "{LESS}" → ""' in again["changes"]
    output = scene.decide(agent, "approve")
    assert (output["status"], sorted(scene.done)) == ("completed", ["s2:x", "s3:x"])


def test_an_edit_to_a_condition_that_may_not_run_is_refused(scene: Scene) -> None:
    agent = scene.agent(scene.plan(*BOTH), "Done.", capabilities=[bill], **{**NEVER, **ASKS})
    card = shown(scene.ask(agent))
    card["steps"][1]["when"] = "steps.s9.output.amount > 100"
    action = {"name": "approve_plan", "args": {"plan": card}}
    with pytest.raises(GateError, match="there is no step s9"):
        scene.answer(agent, {"decisions": [{"type": "edit", "edited_action": action}]})


def test_nobody_is_asked_about_a_branch_that_what_was_read_rules_out(scene: Scene) -> None:
    output = played(scene, first(), write("s2", when=MORE, estimated_risk="Medium"), approval={})
    assert (output["status"], scene.done) == ("completed_with_skips", [])
    assert ends(scene)["s2"][1] == "condition_not_met"
    assert scene.rows("SELECT gate_id FROM gates") == []


def test_a_fork_keeps_what_was_done_and_asks_the_condition_again(scene: Scene) -> None:
    agent = scene.agent(scene.plan(*BOTH), "Done.", capabilities=[bill], **NEVER)
    assert (scene.ask(agent)["status"], scene.done) == ("completed_with_skips", ["s3:x"])
    scene.thread = agent.fork(scene.thread)["configurable"]["thread_id"]
    assert (scene.recover(agent)["status"], scene.done) == ("completed_with_skips", ["s3:x"])


@pytest.mark.sqlite
def test_a_run_with_a_branch_replays_equal(scene: Scene) -> None:
    played(scene, *BOTH, write("s4", when="steps.s1.output.amount + 1"))
    with closing(opened_store(scene.workspace / ".planwright")) as store:
        (row,) = store.execute("SELECT run_id FROM runs").fetchall()
        replay = replay_run(store, Blobs(scene.workspace / ".planwright" / "blobs"), row["run_id"])
    assert (replay.equal, replay.verdicts) == (True, 1)


def test_a_run_that_is_killed_takes_the_same_branch_in_another_process(scene: Scene) -> None:
    steps = [
        scene.step("s1", "work.read"),
        write("s2", when="steps.s1.output.turn > 1"),
        write("s3", when="steps.s1.output.turn == 1"),
        write("s4", when="steps.s3.output.turn == 1"),
    ]
    (scene.workspace / "die-s3").touch()
    scene.child(scene.entry(message="Do it"), replies=[scene.plan(*steps)], settings=NEVER, dies=True)
    assert scene.done == ["s1", "began s3"]
    output = scene.recover(scene.agent("Done.", **NEVER))
    assert (output["status"], scene.done) == ("completed_with_skips", ["s1", "began s3", "s3:x", "s4:x"])
    assert {id_: end[0] for id_, end in ends(scene).items()} == {
        "s1": "completed",
        "s2": "skipped",
        "s3": "completed",
        "s4": "completed",
    }


def test_a_gate_of_its_own_is_opened_only_where_the_condition_holds(scene: Scene) -> None:
    calls = [
        {**scene.step("s2", "work.destroy"), "when": MORE},
        {**scene.step("s3", "work.destroy"), "when": LESS},
    ]
    agent = scene.agent(scene.plan(first(), *calls), "Done.", capabilities=[bill], **NEVER)
    scene.ask(agent)
    assert list(scene.waiting(agent)) == ["s3"]
    assert (scene.decide(agent, "approve")["status"], scene.done) == ("completed_with_skips", ["s3"])


def test_a_step_for_a_model_has_a_condition_too(scene: Scene) -> None:
    task = {"id": "s2", "description": "Write it down", "tool_hints": ["work.write"], "when": MORE}
    model = ScriptedModel(replies=[scene.plan(first(), task), "Done."])
    output = scene.ask(scene.agent(model=model, capabilities=[bill], **NEVER))
    assert (output["status"], len(model.prompts)) == ("completed_with_skips", 2)
    assert ends(scene)["s2"][:2] == ("skipped", "condition_not_met")


def test_a_planner_is_told_how_to_mend_a_condition(scene: Scene) -> None:
    wrong = scene.plan(first(), write("s2", when="steps.s1.output.sum > 1000"))
    model = ScriptedModel(replies=[wrong, scene.plan(first(2000), write("s2", when=MORE)), "Done."])
    settings = {**NEVER, "planning": {"mode": "always"}}
    output = scene.ask(scene.agent(model=model, capabilities=[bill], **settings))
    assert (output["status"], scene.done) == ("completed", ["s2:x"])
    told = "".join(message.text for message in model.prompts[1])
    assert "its condition leads nowhere: s1 returns no 'sum'" in told
    assert "it returns: amount, paid, lines, more" in told


@pytest.mark.parametrize(("tickets", "done"), [(0, "pumps.md"), (3, "")])
def test_the_plan_of_the_guide_takes_its_branches(scene: Scene, tickets: int, done: str) -> None:
    (block,) = [block for block in blocks("json") if '"when"' in block.text]
    steps = [
        {"id": f"t{n}", "capability": "tickets.create", "params": {"title": f"pump {n}"}}
        for n in range(tickets)
    ]
    if steps:
        scene.ask(scene.agent(scene.plan(*steps), "Done.", **NEVER))
        scene.thread += "b"
    agent = scene.agent(block.text, "Done.", **NEVER)
    scene.ask(agent)
    assert list(scene.waiting(agent)) == ["s2" if tickets else "s3"]  # titles may be the words of others
    assert scene.decide(agent, "approve")["status"] == "completed_with_skips"
    assert [path.name for path in scene.workspace.glob("pumps.md")] == [done] * bool(done)
