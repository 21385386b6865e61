"""Which gates can be approved together: by the calls on their cards, and by what the cards warn of."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from planwright.approvals.pending import PendingCall, PendingGate, pending_approvals
from planwright.records.consent.gate import Decision, Gate, GateKind

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
KIM = Decision(answer="approve", decided_by="kim", channel="cli")


def step(name: str, mode: str = "network", effect: str = "idempotent", **more: Any) -> dict[str, Any]:
    return {"id": "s1", "capability": name, "params": {"a": 1}, "mode": mode, "effect": effect, **more}


def reading(name: str = "files.read", **more: Any) -> dict[str, Any]:
    return {**step(name, "read_only", "pure"), "id": "s0", **more}


def gate(card: dict[str, Any], kind: GateKind = "plan", **more: Any) -> Gate:
    return Gate(
        gate_id="gate_a",
        thread_id="t",
        run_id="r",
        tenant="acme",
        kind=kind,
        step_uid=None,
        shown_hash="a" * 64,
        card={"risk": "Medium", **card},
        requested_at=NOW,
        expires_at=NOW,
        **{"status": "open", **more},
    )


def plan(*steps: dict[str, Any], **more: Any) -> Gate:
    return gate({"steps": list(steps), **more})


def call(name: str = "tickets.create", **more: Any) -> Gate:
    return gate({"capability": name, "args": {"title": "t"}, "mode": "network", **more}, "step")


def sorted_out(gate: Gate, capability: str = "tickets.*") -> list[PendingGate]:
    pending = pending_approvals([gate], capability, KIM)
    assert pending.capability == capability
    return [*pending.gates, *pending.left]


CHAIN = {"definition": "d", "calls": [{"capability": "tickets.create", "arguments": {"title": "t"}}]}
FITTING = {
    "a call": call(),
    "a plan": plan(step("tickets.create")),
    "a plan that also reads": plan(reading(), step("tickets.create")),
    "a plan whose other step is done": plan(
        {**step("mail.send"), "id": "s0"}, step("tickets.close"), done={"s0": "run_1"}
    ),
    "a chain of such calls": plan(step("weekly.triage", chain=CHAIN)),
    "a chain of that name": plan(step("tickets.triage", chain=CHAIN)),
    "the call of a chain": call("weekly.triage", definition="d", steps=[step("tickets.create")]),
    "two calls of a reply": gate({"calls": [step("tickets.create"), step("tickets.close")]}, "step"),
}


@pytest.mark.parametrize("name", FITTING)
def test_a_gate_that_asks_about_nothing_else_can_be_approved(name: str) -> None:
    (pending,) = sorted_out(FITTING[name])
    assert (pending.problem, pending.plan_hash, pending.tenant) == ("", "a" * 64, "acme")


LEFT = {
    "it also calls mail.send": plan(step("tickets.create"), step("mail.send")),
    "it also calls mail.send, agent": plan(step("tickets.create"), step("mail.send"), reading("agent")),
    "it also calls http.get": plan(step("tickets.create"), step("http.get", effect="pure")),
    "it also calls files.write": plan(step("tickets.triage", chain={"calls": [step("files.write")]})),
    "it also calls files.remove": call("tickets.triage", steps=[step("files.remove")]),
    "it asks a question": call().model_copy(update={"kind": "info"}),
    "a person says what becomes of its run": call().model_copy(update={"kind": "escalation"}),
    "a person says": call(in_doubt=["s1"], effects=[]),
    "look at it alone: the а of": call(marks=["the а of title is Cyrillic"]),
    "look at it alone: this run has done": plan(step("tickets.create", done_before="r")),
    "gate gate_a expired": call().model_copy(update={"status": "expired"}),
    "gate gate_a is not for kim": call(policy={"approvers": ["sam"]}),
}


@pytest.mark.parametrize("problem", LEFT)
def test_a_gate_that_needs_a_look_of_its_own_is_left(problem: str) -> None:
    (pending,) = sorted_out(LEFT[problem])
    assert pending.problem.startswith(problem)


@pytest.mark.parametrize(
    "other", [call("mail.send"), plan(reading()), plan(step("tickets.create"), done={"s1": "x"})]
)
def test_a_gate_that_does_not_call_it_is_not_listed(other: Gate) -> None:
    assert sorted_out(other) == []


@pytest.mark.parametrize(
    "chain", [plan(step("triage", chain=CHAIN)), call("triage", steps=CHAIN["calls"])], ids=["plan", "call"]
)
def test_a_chain_is_listed_by_the_calls_that_it_makes(chain: Gate) -> None:
    (pending,) = sorted_out(chain, "*")
    assert [(call.capability, call.args) for call in pending.calls] == [("tickets.create", {"title": "t"})]


def test_the_calls_have_the_values_that_are_known() -> None:
    (pending,) = sorted_out(
        plan(step("tickets.create", params={"a": "{{s0.x}}", "b": 2}, values={"a": "real"}))
    )
    assert pending.calls == (PendingCall("s1", "tickets.create", {"a": "real", "b": 2}),)


@pytest.mark.parametrize(
    ("change", "together"),
    [
        ({"args": {"title": "t" * 5_000}}, False),
        ({"args": {"title": "t" * 3_000}}, True),
        ({"rewrites": [{"path": "a.md", "size": 3, "begins": ["a"], "diff": ["-a"]}]}, True),
        ({"rewrites": [{"path": "a.md", "size": 3, "begins": ["a"], "diff": ["-a"], "more": 7}]}, False),
        ({"rewrites": [{"path": "a.md", "size": 900_000}]}, False),
    ],
)
def test_what_a_list_would_cut_short_is_looked_at_alone(change: dict[str, Any], together: bool) -> None:
    (row,) = sorted_out(call(**change))
    assert (row.problem == "") is together
    assert together or row.problem == "it is too long for a list: planwright show r"


def test_a_list_says_what_the_card_says_beside_the_arguments() -> None:
    more = {"described": {"id": {"text": "Pump", "untrusted": True}}, "undo_by": ""}
    (row,) = sorted_out(call("tickets.close", args={"id": 4}, **more))
    assert row.calls[0].notes == ('id #4, "Pump"', "cannot be undone")
