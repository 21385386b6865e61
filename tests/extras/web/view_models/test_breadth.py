"""Boxes on the page of a gate say how far its approval holds, and only those are read that it offers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from planwright.approvals.answers.binding import read_decision
from planwright.domain.errors import GateError
from planwright.extras.web.view_models.answer_form import answer_of
from planwright.extras.web.view_models.breadth import breadth_choices, breadth_of
from planwright.records.consent.gate import Gate

NOW = datetime(2026, 3, 1, tzinfo=UTC)
CARD: dict[str, Any] = {
    "capability": "office.note",
    "mode": "local_write",
    "risk": "High",
    "args": {"path": "notes/a.md", "text": "one"},
    "width": {"free": ["text"], "words": "office.note, path notes/a.md, any text"},
}


def gate(**card: Any) -> Gate:
    return Gate(
        gate_id="gate_1",
        thread_id="t",
        run_id="r",
        tenant="default",
        kind="step",
        step_uid="u",
        shown_hash="h",
        card={**CARD, **card},
        requested_at=NOW,
        expires_at=NOW + timedelta(hours=1),
        status="open",
    )


def test_a_folder_and_what_is_free_may_be_ticked() -> None:
    assert [(choice.field, choice.words) for choice in breadth_choices(gate())] == [
        ("at-path", "path in notes/"),
        ("any-text", "any text"),
    ]


def test_of_a_tool_without_destinations_each_argument_may_be_ticked() -> None:
    choices = breadth_choices(gate(width={"free": [], "choose": ["path", "text"]}))
    assert [choice.field for choice in choices] == ["at-path", "any-path", "any-text"]


def test_a_destructive_call_and_several_calls_offer_nothing() -> None:
    assert breadth_choices(gate(mode="destructive")) == []
    assert breadth_choices(gate(calls=[CARD, CARD])) == []


def test_what_was_ticked_and_typed_is_read() -> None:
    form = {"at-path": "yes", "any-path": "yes", "when": " size(text) < 9 ", "most": "3"}
    assert breadth_of(gate(), lambda name: form.get(name, "")) == {
        "args": {"path": {"under": "notes"}},
        "when": "size(text) < 9",
        "most": "3",
    }
    assert breadth_of(gate(), lambda name: "") == {}


def test_what_was_ticked_without_a_length_is_not_dropped_but_refused_at_the_door() -> None:
    form = {"type": ["approve"], "plan_hash": ["h"], "remember": [""], "at-path": ["yes"]}
    answer = answer_of(form, gate())
    assert answer["remember"] == {"args": {"path": {"under": "notes"}}}
    with pytest.raises(GateError, match="say a scope"):
        read_decision(answer, "web")
