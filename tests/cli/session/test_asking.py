"""What can be typed at a gate of each kind, and what it means."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from planwright.cli.session.asking import choices, read_typed
from planwright.cli.session.doubt_questions import of_effect
from planwright.cli.views.gate_view import gate_view

ALLOWED = {
    "plan": ["approve", "edit", "reject", "respond"],
    "step": ["approve", "reject"],
    "info": ["respond", "reject"],
    "escalation": ["approve", "reject", "respond"],
}


def waiting(kind: str, **more: Any) -> dict[str, Any]:
    shown = {"in_doubt": [], **more.pop("shown", {})}
    return {"kind": kind, "shown": shown, "review_configs": [{"allowed_decisions": ALLOWED[kind]}], **more}


def said(**tools: str) -> dict[str, Any]:
    return {"type": "approve", "remember": {"tools": tools}}


REMEMBER: dict[str, Any] = {"remember": ["run", "session", "always"]}
MEANT: list[tuple[str, dict[str, Any], str, dict[str, Any] | None]] = [
    ("plan", {}, "y", {"type": "approve"}),
    ("plan", {}, "approve", {"type": "approve"}),
    ("plan", {}, "OK", {"type": "approve"}),
    ("plan", {}, "reject", {"type": "reject", "message": ""}),
    ("plan", {}, "approve the other one", None),
    ("plan", {}, "", None),
    ("plan", {}, "?", None),
    ("plan", {}, "not now", None),
    ("plan", {}, "no problem", None),
    ("plan", {}, "n not to that file", {"type": "reject", "message": "not to that file"}),
    ("plan", {}, "N, not now", {"type": "reject", "message": "not now"}),
    ("step", {}, "reject: not now", {"type": "reject", "message": "not now"}),
    ("step", {}, "YES", {"type": "approve"}),
    ("step", {}, "a", None),
    ("step", {}, "yy", None),
    ("step", REMEMBER, "a", {"type": "approve", "remember": "always"}),
    ("step", {"undeclared": ["a", "b"]}, "1", said(a="reads", b="reads")),
    ("plan", {"undeclared": ["a"]}, "4", said(a="always_asks")),
    ("step", {}, "1", None),
    ("plan", {"shown_later": ["s2"]}, "u", {"type": "approve", "remember": {"unseen": True}}),
    ("plan", {}, "u", None),
    ("info", {"shown": {"call_question": {}}}, "no", {"type": "respond", "message": "no"}),
    ("info", {"shown": {"call_question": {}}}, "n", {"type": "reject", "message": ""}),
    ("info", {}, "y", {"type": "respond", "message": "y"}),
    ("info", {}, "Acme Ltd", {"type": "respond", "message": "Acme Ltd"}),
    ("info", {}, "n", {"type": "reject", "message": ""}),
    ("info", {}, "no thanks", {"type": "respond", "message": "no thanks"}),
    ("info", {}, "h", {"type": "respond", "message": "h"}),
    ("info", {}, "?", None),
    ("info", {}, "", None),
    ("escalation", {}, "y", {"type": "approve"}),
    ("escalation", {}, "n", {"type": "reject", "message": ""}),
    ("escalation", {}, "it was sent", {"type": "respond", "message": "it was sent"}),
    ("escalation", {}, "help", None),
    ("escalation", {}, "", None),
]


@pytest.mark.parametrize(("kind", "more", "typed", "answer"), MEANT)
def test_what_is_typed_is_an_answer_of_its_gate(
    kind: str, more: dict[str, Any], typed: str, answer: dict[str, Any] | None
) -> None:
    assert read_typed(typed, waiting(kind, **more)) == answer


@pytest.mark.parametrize(
    ("gate", "offered"),
    [
        (waiting("step", **REMEMBER), "[a] always, with these arguments"),
        (waiting("escalation", shown={"in_doubt": ["s1"]}), "type what came of it"),
        (waiting("escalation"), "type what to do instead"),
        (waiting("escalation", shown={"approve": "accept"}), "[y] accept it as it is   or type"),
        (waiting("info"), "type the answer"),
    ],
    ids=["a call", "in doubt", "failed", "not accepted", "questions"],
)
def test_what_can_be_typed_is_said(gate: dict[str, Any], offered: str) -> None:
    assert offered in choices(gate)


def test_a_plan_that_takes_no_edit_is_not_offered_one_and_asks_again() -> None:
    fixed = {**waiting("plan"), "review_configs": [{"allowed_decisions": ["approve", "reject"]}]}
    assert ("edit" in choices(fixed), "edit" in choices(waiting("plan"))) == (False, True)
    assert [read_typed(word, fixed) for word in ("e", "EDIT")] == [None, None]


def test_a_destructive_call_is_not_offered_to_be_remembered() -> None:
    assert "always" not in choices(waiting("step"))


def test_questions_are_shown_one_a_line() -> None:
    console = Console(width=60)
    card = {"description": "For: the invoice", "args": {"questions": ["Which Acme?", "In \u202eeuros?"]}}
    with console.capture() as captured:
        console.print(gate_view("info", card))
    lines = [line.strip() for line in captured.get().splitlines()]
    assert "1: Which Acme?" in lines
    assert "2: In \\u202eeuros?" in lines


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("y", {"happened": True}),
        ("NO", {"happened": False}),
        ("id 7", {"happened": True, "result": {"text": "id 7"}}),
        ('{"id": 7}', {"happened": True, "result": {"id": 7}}),
        ("", None),
        ("approve", None),
        ("ok", None),
    ],
)
def test_what_is_typed_of_an_effect_in_doubt(typed: str, answer: dict[str, Any] | None) -> None:
    assert of_effect(typed) == answer
