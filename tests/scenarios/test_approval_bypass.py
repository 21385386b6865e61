"""Attempts to get past an approval, through Python: none has an effect, and a proper approval still works.

`ANSWERS` are refused and change nothing at all; `MOVES` are whole sequences, the last of which is refused;
`TAMPERINGS` write into the state, which LangGraph allows, and get nothing for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from planwright.domain.errors import GateError, PlanwrightError
from planwright.records.consent.gate import gate_id
from tests.scenarios.gated_runs import (
    GatedRun,
    call_gate,
    clearly_refused,
    plan_gate,
    step_gate,
    two_gates,
)

pytestmark = pytest.mark.sqlite  # its stores last longer than a test

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

Gated = Callable[..., GatedRun]
Answer = Callable[[GatedRun], Any]
Move = Callable[[GatedRun], Any]
APPROVE: dict[str, Any] = {"decisions": [{"type": "approve"}]}
WRONG = "gate_0000000000000000"
ZEROS = "0" * 64
OTHER = {"name": "approve_plan", "args": {"plan": {"steps": []}}}


def always(answer: Any) -> Answer:
    """An answer that does not depend on the run."""
    return lambda run: answer


def changed(change: Callable[[dict[str, Any]], Any]) -> Answer:
    """An edit of the plan that is shown."""
    return lambda run: run.edit(change)


def step(**fields: Any) -> Answer:
    """An edit of the first step that is shown."""
    return changed(lambda plan: plan["steps"][0].update(fields))


def added(**fields: Any) -> Answer:
    """An edit that adds a step."""
    return changed(lambda plan: plan["steps"].append({"id": "new", "params": {"name": "new"}, **fields}))


def plans_gate(run: GatedRun) -> str:
    """The gate of the plan, which was approved before."""
    query = "SELECT gate_id FROM gates WHERE kind = 'plan'"
    return str(run.scene.rows(query)[0]["gate_id"])


def next_gate(run: GatedRun) -> str:
    """The gate that the first step would have, if it were asked for by itself."""
    return gate_id(run.asked["run_id"], "step", run.state["checked"][0].uid)


ANSWERS: dict[str, tuple[Gated, Answer]] = {
    # the gate
    "a wrong gate id": (plan_gate, always({"type": "approve", "gate_id": WRONG})),
    "a wrong gate id in the decision": (
        plan_gate,
        always({"decisions": [{"type": "approve", "gate_id": WRONG}]}),
    ),
    "an empty gate id": (plan_gate, always({"type": "approve", "gate_id": ""})),
    "a gate id that is false": (plan_gate, always({"type": "approve", "gate_id": False})),
    "a gate id in a list": (plan_gate, lambda run: {"type": "approve", "gate_id": [run.gate]}),
    "a gate id with a space": (plan_gate, lambda run: {"type": "approve", "gate_id": f"{run.gate} "}),
    "a gate id in capitals": (plan_gate, lambda run: {"type": "approve", "gate_id": run.gate.upper()}),
    "the beginning of a gate id": (plan_gate, lambda run: {"type": "approve", "gate_id": run.gate[:12]}),
    "the right gate outside, a wrong one inside": (
        plan_gate,
        lambda run: {"gate_id": run.gate, "decisions": [{"type": "approve", "gate_id": WRONG}]},
    ),
    "a wrong gate outside, the right one inside": (
        plan_gate,
        lambda run: {"gate_id": WRONG, "decisions": [{"type": "approve", "gate_id": run.gate}]},
    ),
    "the id of the run": (plan_gate, lambda run: {run.asked["run_id"]: "approve"}),
    "the id of the thread": (plan_gate, lambda run: {run.scene.thread: "approve"}),
    "the hash of the plan as a name": (plan_gate, lambda run: {run.plan_hash: "approve"}),
    "the name of a step": (plan_gate, always({"s1": "approve"})),
    "a star": (two_gates, always({"*": "approve"})),
    "the gate of the step, before it is asked for": (plan_gate, lambda run: {next_gate(run): "approve"}),
    "the gate of the plan, for its step": (step_gate, lambda run: {plans_gate(run): "approve"}),
    "the gate of the plan, for a call": (call_gate, always({WRONG: "approve"})),
    "one answer for two gates": (two_gates, always("approve")),
    "two gates, one of them wrong": (two_gates, lambda run: {run.gate: "approve", WRONG: "approve"}),
    "a list of decisions for two gates": (two_gates, always(["approve", "approve"])),
    "decisions for two gates": (
        two_gates,
        always({"decisions": [{"type": "approve"}, {"type": "approve"}]}),
    ),
    # the interrupt
    "a wrong interrupt id": (plan_gate, always({"0" * 32: "approve"})),
    "the beginning of an interrupt id": (plan_gate, lambda run: {run.interrupt[:-1]: "approve"}),
    "the right interrupt and a wrong one": (
        plan_gate,
        lambda run: {run.interrupt: "approve", "f" * 32: "approve"},
    ),
    "interrupt and gate, twice the same": (
        plan_gate,
        lambda run: {run.interrupt: "approve", run.gate: "approve"},
    ),
    "interrupt and gate that contradict": (
        plan_gate,
        lambda run: {run.interrupt: "reject", run.gate: "approve"},
    ),
    "an interrupt whose answer names another gate": (
        plan_gate,
        lambda run: {run.interrupt: {"type": "approve", "gate_id": WRONG}},
    ),
    "a map in a map": (plan_gate, lambda run: {run.interrupt: {run.gate: "approve"}}),
    "an interrupt id as a number": (plan_gate, always({0: "approve"})),
    # what was shown
    "a stale hash": (plan_gate, always({"type": "approve", "plan_hash": ZEROS})),
    "a stale hash beside the decisions": (plan_gate, always({**APPROVE, "plan_hash": ZEROS})),
    "a stale hash outside, the right one inside": (
        plan_gate,
        lambda run: {"plan_hash": ZEROS, "decisions": [{"type": "approve", "plan_hash": run.plan_hash}]},
    ),
    "the beginning of the hash": (
        plan_gate,
        lambda run: {"type": "approve", "plan_hash": run.plan_hash[:12]},
    ),
    "the hash in capitals": (plan_gate, lambda run: {"type": "approve", "plan_hash": run.plan_hash.upper()}),
    "an empty hash": (plan_gate, always({"type": "approve", "plan_hash": ""})),
    "a hash in a list": (plan_gate, lambda run: {"type": "approve", "plan_hash": [run.plan_hash]}),
    "a hash as bytes": (plan_gate, lambda run: {"type": "approve", "plan_hash": run.plan_hash.encode()}),
    "the hash of the plan for its step": (
        step_gate,
        lambda run: {"type": "approve", "plan_hash": run.asked["shown"].get("plan_hash", ZEROS)},
    ),
    # the decision
    "a dict": (plan_gate, always({"approve": True})),
    "another dict": (plan_gate, always({"approved": True, "status": "approved"})),
    "a dict in the type": (plan_gate, always({"type": {"type": "approve"}})),
    "a list in the type": (plan_gate, always({"type": ["approve"]})),
    "a one in the type": (plan_gate, always({"type": 1})),
    "decisions in a dict": (plan_gate, always({"decisions": {"0": {"type": "approve"}}})),
    "decisions in decisions": (plan_gate, always({"decisions": [APPROVE]})),
    "decisions and a type": (plan_gate, always({**APPROVE, "type": "approve"})),
    "no decision": (plan_gate, always({"decisions": []})),
    "two decisions": (plan_gate, always({"decisions": [{"type": "approve"}, {"type": "approve"}]})),
    "two decisions that contradict": (
        plan_gate,
        always({"decisions": [{"type": "reject"}, {"type": "approve"}]}),
    ),
    "a list of two": (plan_gate, always(["approve", "reject"])),
    "a list in a list": (plan_gate, always([["approve"]])),
    "a list of nothing": (plan_gate, always([])),
    "an empty dict": (plan_gate, always({})),
    "an empty text": (plan_gate, always("")),
    "a one": (plan_gate, always(1)),
    "a float": (plan_gate, always(1.0)),
    "bytes": (plan_gate, always(b"approve")),
    "a set": (plan_gate, always({"approve"})),
    "an object": (plan_gate, always(object())),
    "JSON as a text": (plan_gate, always(json.dumps(APPROVE))),
    "JSON as a text in decisions": (plan_gate, always({"decisions": ['{"type": "approve"}']})),
    "JSON as the type": (plan_gate, always({"type": '"approve"'})),
    "approve with a condition": (plan_gate, always("approve, but only s1")),
    "approve and reject": (plan_gate, always("approve\nreject")),
    "approve with a zero-width space": (plan_gate, always("approve\u200b")),
    "approve in Cyrillic": (plan_gate, always({"type": "\u0430pprove"})),
    "approve in full width": (plan_gate, always("\uff41\uff50\uff50\uff52\uff4f\uff56\uff45")),
    "approve turned around": (plan_gate, always({"type": "\u202eevorppa\u202c"})),
    "approve isolated": (plan_gate, always({"type": "\u2068approve\u2069"})),
    "approve with an accent": (plan_gate, always("approve\u0301")),
    "ok with the sign of Kelvin": (plan_gate, always("o\u212a")),
    "yes with a long s": (plan_gate, always("ye\u017f")),
    "true in mathematical letters": (plan_gate, always({"type": "\U0001d42d\U0001d42b\U0001d42e\U0001d41e"})),
    "approve after a line separator": (plan_gate, always("\u2028approve")),
    "an approval of some steps": (plan_gate, always({"type": "approve", "steps": ["s1"]})),
    "an approval of another uid": (plan_gate, always({"type": "approve", "uid": "step_0"})),
    "an approval with other arguments": (
        plan_gate,
        always({"type": "approve", "args": {"plan": {"steps": []}}}),
    ),
    "an Agent Inbox approval with other arguments": (
        step_gate,
        always({"type": "accept", "args": {"action": "work.destroy", "args": {"name": "other"}}}),
    ),
    "an approval with an edit": (plan_gate, always({"type": "approve", "edited_action": OTHER})),
    "an approval beside the state": (plan_gate, always({**APPROVE, "checked": [], "approved": True})),
    "an approval by a list": (plan_gate, always({"type": "approve", "decided_by": ["ada"]})),
    "a million letters": (plan_gate, always("approve" * 150_000)),
    "a gate id of a million letters": (plan_gate, always({"type": "approve", "gate_id": "g" * 1_000_000})),
    "a name of a million letters": (plan_gate, always({"g" * 1_000_000: "approve"})),
    "a field of a million letters": (plan_gate, always({"type": "approve", "g" * 1_000_000: 1})),
    # edits
    "an edit to a capability nobody has": (plan_gate, step(capability="work.wipe_all")),
    "an edit to a capability that only looks the same": (plan_gate, step(capability="work.wr\u0456te")),
    "an edit to a capability with a hidden character": (plan_gate, step(capability="work.write\u200b")),
    "an edit that answers by another action": (
        plan_gate,
        always({"type": "edit", "edited_action": {"name": "work.write", "args": {"name": "x"}}}),
    ),
    "an edit of the risk": (plan_gate, step(risk="None")),
    "an edit of the mode": (plan_gate, step(mode="read_only")),
    "an edit of the effect": (plan_gate, step(effect="pure")),
    "an edit that takes the own gate away": (plan_gate, added(capability="work.destroy", own_gate=False)),
    "an edit that lowers the mode": (plan_gate, added(capability="work.destroy", approval_mode="read_only")),
    "an edit of gated": (plan_gate, step(gated=False)),
    "an edit of the uid": (plan_gate, step(uid="step_0")),
    "an edit of the hash": (plan_gate, changed(lambda plan: plan.update(plan_hash=ZEROS))),
    "an edit of approved": (plan_gate, changed(lambda plan: plan.update(approved=True))),
    "an edit of the name of the plan": (plan_gate, changed(lambda plan: plan.update(plan_id="plan_x"))),
    "an edit of the revision": (plan_gate, changed(lambda plan: plan.update(revision=0))),
    "an edit of what changed": (plan_gate, changed(lambda plan: plan.update(changes=["nothing"]))),
    "an edit that changes nothing": (plan_gate, changed(lambda plan: None)),
    "an edit that leaves no step": (plan_gate, changed(lambda plan: plan.update(steps=[]))),
    "an edit to arguments that do not fit": (plan_gate, step(params={"name": ["s1"]})),
    "an edit to one more argument": (plan_gate, step(params={"name": "s1", "sudo": True})),
    "an edit to a tool nobody has": (plan_gate, step(capability="agent", params={"tools": ["work.*"]})),
    "an edit of a step to another tool": (
        step_gate,
        always({"type": "edit", "edited_action": {"name": "work.wipe", "args": {"name": "other"}}}),
    ),
    "an edit of a call to arguments that it does not have": (
        call_gate,
        always({"type": "edit", "edited_action": {"name": "work.wipe", "args": {"sudo": True}}}),
    ),
    "a response without words": (plan_gate, always({"type": "respond", "message": "\u3000"})),
}


@pytest.fixture(scope="module")
def waiting(
    stage: Callable[[Path], Scene], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Gated], GatedRun]]:
    """A run of each kind that waits for all attempts; in the end it is approved as it should be, and done."""
    runs: dict[Gated, GatedRun] = {}

    def wait(gated: Gated) -> GatedRun:
        if gated not in runs:
            runs[gated] = gated(stage(tmp_path_factory.mktemp("gated")))
        return runs[gated]

    yield wait
    for run in runs.values():
        run.finish()
        assert sorted(run.scene.done) == run.allowed
        run.agent.close()


@pytest.mark.sampled(30)
@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_that_is_none_is_refused_and_changes_nothing(
    name: str, waiting: Callable[[Gated], GatedRun]
) -> None:
    gated, answer = ANSWERS[name]
    run = waiting(gated)
    given, before = answer(run), run.scene.everything()
    with pytest.raises(PlanwrightError) as refused:
        run.scene.answer(run.agent, given)
    clearly_refused(refused.value)
    assert isinstance(refused.value, GateError)
    assert run.scene.everything() == before
    assert run.scene.done == []


@pytest.mark.parametrize("gated", [plan_gate, step_gate, call_gate])
def test_an_agent_inbox_approval_with_the_arguments_that_are_shown_is_taken(
    gated: Gated, scene: Scene
) -> None:
    run = gated(scene)
    (action,) = run.asked["action_requests"]
    scene.answer(run.agent, [{"type": "accept", "args": {"action": action["name"], "args": action["args"]}}])
    assert scene.done == run.allowed
