"""Every form of an answer, bound to the one gate it is meant for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import JsonValue

from planwright.approvals.answers.binding import bind, signed
from planwright.domain.errors import GateError
from planwright.records.consent.gate import Gate, GateKind

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
HASH = "a" * 64
CALL: dict[str, JsonValue] = {"capability": "a.b", "description": "Do.", "reason": "it writes", "args": {}}


def gate(name: str, kind: GateKind = "step", **shown: JsonValue) -> Gate:
    return Gate(
        gate_id=name,
        thread_id="t",
        run_id="r",
        tenant="acme",
        kind=kind,
        step_uid="u" if kind == "step" else None,
        shown_hash=HASH,
        card={**CALL, **shown} if kind == "step" else shown,
        requested_at=NOW,
        expires_at=NOW,
        status="open",
    )


MANY = [gate(f"gate_{number}") for number in range(200)]
PLAN = [gate("gate_a", "plan", replans_left=1)]
LAST = [gate("gate_a", "plan", replans_left=0)]
STEPS: dict[str, Any] = {"steps": [{"id": "s1"}]}
ACTION: dict[str, Any] = {"name": "approve_plan", "args": {"plan": STEPS}}
INBOX: dict[str, Any] = {"action": "approve_plan", "args": {"plan": STEPS}}
ONE, TWO = [gate("gate_a")], [gate("gate_a"), gate("gate_b")]
INTERRUPTS = {"int_a": "gate_a", "int_b": "gate_b"}

APPROVALS: list[Any] = [
    "approve", "approved", "accept", "yes", "ok", "true", "Approve", "  YES \n", True, ["approve"],
    [True], {"type": "approve"}, {"type": "accept", "args": None}, {"type": True},
    [{"type": "accept", "args": None}], {"decisions": ["approve"]}, {"decisions": [True]},
    {"decisions": [{"type": "approve"}]}, {"decisions": ({"type": "approve"},)},
    {"decisions": [{"type": "approve"}], "plan_hash": HASH}, {"gate_id": "gate_a", "type": "approve"},
    {"gate_id": "gate_a", "decisions": [{"type": "approve"}]}, {"int_a": "approve"}, {"gate_a": True},
    {"gate_a": {"decisions": [{"type": "approve"}]}},
]  # fmt: skip
REJECTIONS: list[Any] = [
    "reject", "rejected", "deny", "no", "false", "ignore", "REJECT", False, ["no"], {"type": "reject"},
    {"type": False}, {"decisions": [False]}, {"decisions": [{"type": "reject", "message": "why"}]},
    [{"type": "ignore", "args": None}], {"int_a": "reject"}, {"gate_a": {"type": "reject"}},
]  # fmt: skip
REFUSED: list[Any] = [
    None, "", " ", "maybe", "approve it", "approve, reject", "approve\0", 0, 1, 1.0, b"approve", ...,
    [], [[]], [None], ["approve", "approve"], [["approve"]], {}, {"type": None}, {"type": 1},
    {"type": ["approve"]}, {"type": "edit", "args": {}},
    {"type": ""}, {"types": "approve"}, {"decisions": []}, {"decisions": None},
    {"decisions": "approve"}, {"decisions": {"type": "approve"}}, {"decisions": [{}]},
    {"decisions": [None]}, {"decisions": [1]},
    {"decisions": [{"type": "approve"}, {"type": "approve"}]},
    {"decisions": [{"decisions": ["approve"]}]}, {"gate_x": "approve"}, {"int_a": "perhaps"},
    {"int_a": None}, {"int_a": {}}, {"gate_id": "gate_x", "type": "approve"},
    {"gate_id": 5, "type": "approve"}, {"message": "approve"}, {1: "approve"}, {None: "approve"},
    {"type": "approve", "plan_hash": 5}, {"decisions": [{"type": "approve", "plan_hash": ["x"]}]},
    {"type": "reject", "decisions": [{"type": "approve"}]}, {"int_a": "approve", "gate_a": "reject"},
    "o\u212a", "\u2028approve", {"type": "approve", "steps": ["s1"]}, {"type": "approve", "gate_id": ""},
    {"gate_id": "gate_a", "decisions": [{"type": "approve", "gate_id": "gate_b"}]},
    {"plan_hash": HASH, "decisions": [{"type": "approve", "plan_hash": "b" * 64}]},
    {"type": "approve", "decided_by": ["sam"]},
]  # fmt: skip


@pytest.mark.parametrize("form", APPROVALS, ids=repr)
def test_a_form_that_approves(form: Any) -> None:
    (bound,) = bind(form, ONE, INTERRUPTS, "terminal")
    assert (bound.gate.gate_id, bound.decision.answer) == ("gate_a", "approve")


@pytest.mark.parametrize("form", APPROVALS + REJECTIONS, ids=repr)
def test_a_signed_answer_is_the_same_answer_given_by_that_person(form: Any) -> None:
    (before,) = bind(form, ONE, INTERRUPTS, "server")
    (after,) = bind(signed(form, "ada"), ONE, INTERRUPTS, "server")
    assert after.decision == before.decision.model_copy(update={"decided_by": "ada"})


@pytest.mark.parametrize("form", REFUSED, ids=repr)
def test_what_is_no_answer_is_none_when_it_is_signed(form: Any) -> None:
    with pytest.raises(GateError):
        bind(signed(form, "ada"), ONE, INTERRUPTS, "server")


NAMED: dict[str, Any] = {"type": "approve", "decided_by": "boss"}


@pytest.mark.parametrize(
    "form",
    [
        NAMED, [NAMED], {"decisions": [NAMED]}, {"decisions": (NAMED,)}, {"int_a": NAMED},
        {"gate_a": [NAMED]}, {"gate_a": {"decisions": [NAMED]}},
        {"decisions": ["approve"], "decided_by": "boss"}, {"type": "approve", "decided_by": None},
        {"decisions": [{"type": "approve"}], "decided_by": "ada"},
    ],
    ids=repr,
)  # fmt: skip
def test_an_answer_that_says_itself_who_gives_it_is_not_signed(form: Any) -> None:
    with pytest.raises(GateError, match="does not say who gives it"):
        signed(form, "ada")


@pytest.mark.parametrize("form", REJECTIONS, ids=repr)
def test_a_form_that_rejects(form: Any) -> None:
    (bound,) = bind(form, ONE, INTERRUPTS, "terminal")
    assert (bound.gate.gate_id, bound.decision.answer) == ("gate_a", "reject")


@pytest.mark.parametrize("form", REFUSED, ids=lambda form: ascii(form)[:60])
def test_a_form_that_is_no_answer_is_refused(form: Any) -> None:
    with pytest.raises(GateError) as refused:
        bind(form, ONE, INTERRUPTS, "terminal")
    assert refused.value.next_step


@pytest.mark.parametrize("form", ["approve", True, {"type": "approve"}, {"decisions": ["approve"]}], ids=repr)
def test_a_bare_answer_over_two_gates_is_refused_with_their_names(form: Any) -> None:
    with pytest.raises(GateError, match="2 gates are open") as refused:
        bind(form, TWO, INTERRUPTS, "terminal")
    assert refused.value.next_step == (
        "send 2 decisions, in their order, or answer each by its id: gate_a, gate_b"
    )


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"int_b": "approve"}, {"gate_b": "approve"}),
        ({"gate_b": "reject"}, {"gate_b": "reject"}),
        ({"int_a": True, "gate_b": False}, {"gate_a": "approve", "gate_b": "reject"}),
        ({"gate_id": "gate_b", "type": "approve"}, {"gate_b": "approve"}),
        ({"gate_id": "gate_b", "decisions": ["no"]}, {"gate_b": "reject"}),
    ],
    ids=repr,
)
def test_an_answer_by_name_reaches_exactly_the_gates_it_names(form: Any, expected: dict[str, str]) -> None:
    bound = bind(form, TWO, INTERRUPTS, "terminal")
    assert {item.gate.gate_id: item.decision.answer for item in bound} == expected


def test_one_wrong_name_refuses_the_whole_answer() -> None:
    with pytest.raises(GateError, match="gate_x"):
        bind({"gate_a": "approve", "gate_x": "approve"}, TWO, INTERRUPTS, "terminal")


def test_an_answer_without_an_open_gate_is_refused() -> None:
    with pytest.raises(GateError, match="nothing on this thread waits"):
        bind("approve", [], {}, "terminal")


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ({"type": "reject", "message": "too dear"}, "too dear"),
        ({"type": "reject", "reason": "too dear"}, "too dear"),
        ({"type": "ignore", "args": "too dear"}, "too dear"),
        ({"decisions": [{"type": "reject", "message": "too dear"}]}, "too dear"),
        ({"decisions": ["reject"], "message": "too dear"}, "too dear"),
        ("reject", ""),
    ],
    ids=repr,
)
def test_a_reason_travels_along(form: Any, reason: str) -> None:
    (bound,) = bind(form, ONE, INTERRUPTS, "terminal")
    assert bound.decision.reason == reason


def test_who_decided_what_and_through_which_door_travels_along() -> None:
    form = {"decisions": [{"type": "approve"}], "decided_by": "sam", "plan_hash": HASH}
    (bound,) = bind(form, ONE, INTERRUPTS, "studio")
    assert (bound.decision.decided_by, bound.decision.channel, bound.decision.shown_hash) == (
        "sam",
        "studio",
        HASH,
    )
    (plain,) = bind("approve", ONE, INTERRUPTS, "studio")
    assert (plain.decision.decided_by, plain.decision.shown_hash) == ("studio", None)


@pytest.mark.parametrize(
    "form",
    [
        {"type": "edit", "edited_action": ACTION},
        {"decisions": [{"type": "edit", "edited_action": ACTION}]},
        {"decisions": [{"type": "edit", "edited_action": ACTION}], "plan_hash": HASH},
        {"type": "edit", "args": INBOX},
        [{"type": "edit", "args": INBOX}],
        {"gate_a": {"type": "edit", "edited_action": ACTION}},
        {"type": "Edit", "edited_action": ACTION, "args": None},
    ],
    ids=repr,
)
def test_a_form_that_edits_brings_its_plan(form: Any) -> None:
    (bound,) = bind(form, PLAN, INTERRUPTS, "terminal")
    assert (bound.decision.answer, bound.edit) == ("edit", STEPS)


@pytest.mark.parametrize(
    "form",
    [
        "edit",
        {"type": "edit"},
        {"decisions": ["edit"]},
        {"type": "edit", "plan": STEPS},
        {"type": "edit", "args": STEPS},
        {"type": "edit", "args": "text"},
        {"type": "edit", "edited_action": STEPS},
        {"type": "edit", "edited_action": {**ACTION, "name": "mail.send"}},
        {"type": "edit", "edited_action": {**ACTION, "name": None}},
        {"type": "edit", "edited_action": {**ACTION, "more": 1}},
        {"type": "edit", "edited_action": {**ACTION, "args": {"plan": STEPS, "approved": True}}},
        {"type": "edit", "edited_action": {**ACTION, "args": {}}},
        {"type": "edit", "edited_action": {"action": "approve_plan", "args": {"plan": STEPS}}},
        {"type": "edit", "edited_action": [ACTION]},
        {"type": "edit", "edited_action": ACTION, "args": INBOX},
        {"type": "approve", "edited_action": ACTION},
        {"type": "reject", "edited_action": ACTION},
        {"type": "respond", "message": "x", "edited_action": ACTION},
        {"decisions": [{"type": "edit", "edited_action": ACTION}, {"type": "approve"}]},
    ],
    ids=lambda form: ascii(form)[:80],
)
def test_an_edit_that_is_not_exactly_one_plan_is_refused(form: Any) -> None:
    with pytest.raises(GateError) as refused:
        bind(form, PLAN, INTERRUPTS, "terminal")
    assert refused.value.next_step


@pytest.mark.parametrize(
    "form",
    [
        {"type": "respond", "message": "shorter"},
        {"decisions": [{"type": "respond", "message": "shorter"}]},
        {"type": "response", "args": "shorter"},
        [{"type": "response", "args": "shorter"}],
        {"gate_a": {"type": "respond", "message": "shorter"}},
    ],
    ids=repr,
)
def test_a_form_that_responds_brings_its_words(form: Any) -> None:
    (bound,) = bind(form, PLAN, INTERRUPTS, "terminal")
    assert (bound.decision.answer, bound.decision.reason) == ("respond", "shorter")


@pytest.mark.parametrize(
    "form",
    [
        "respond",
        {"type": "respond"},
        {"type": "respond", "message": " \n"},
        {"type": "respond", "message": ["x"]},
        {"type": "response", "args": None},
        {"type": "response", "args": {"text": "x"}},
    ],
    ids=repr,
)
def test_a_response_without_words_is_refused(form: Any) -> None:
    with pytest.raises(GateError, match="without words"):
        bind(form, PLAN, INTERRUPTS, "terminal")


@pytest.mark.parametrize(
    ("gates", "allowed"),
    [
        (PLAN, "approve, edit, reject, respond"),
        (LAST, "approve, edit, reject"),
    ],
    ids=["plan", "plan without a re-plan left"],
)
def test_a_gate_takes_what_it_allows_and_names_that(gates: list[Gate], allowed: str) -> None:
    forms = {
        "approve": {"type": "approve"},
        "reject": {"type": "reject"},
        "edit": {"type": "edit", "edited_action": ACTION},
        "respond": {"type": "respond", "message": "shorter"},
    }
    for word, form in forms.items():
        if word in allowed.split(", "):
            assert bind(form, gates, INTERRUPTS, "terminal")[0].decision.answer == word
        else:
            with pytest.raises(GateError, match=f"does not take `{word}`") as refused:
                bind(form, gates, INTERRUPTS, "terminal")
            assert refused.value.next_step.endswith(f"it takes: {allowed}")


def test_of_many_open_gates_eight_are_named() -> None:
    with pytest.raises(GateError) as refused:
        bind("yes", MANY, {}, "cli")
    assert refused.value.next_step.endswith("gate_7 and 192 more: planwright ls --waiting")
