"""Forms read into answers and edits: exactly what was typed, and never a name."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from planwright.domain.errors import GateError
from planwright.extras.web.view_models.answer_form import answer_of, effects_of
from planwright.extras.web.view_models.edit_form import edit_of, edited_steps
from planwright.extras.web.view_models.paging import paging
from planwright.records.consent.gate import Gate

AT = datetime(2026, 11, 24, tzinfo=UTC)
STEP = {
    "id": "s1",
    "capability": "tickets.create",
    "description": "d",
    "after": [],
    "params": {"title": "T", "n": 3},
}
CARD = {"goal": "g", "steps": [STEP, {**STEP, "id": "s2", "after": ["s1"], "params": {"title": "U"}}]}


def gate(**fields: object) -> Gate:
    """Write the row of a gate."""
    row: dict[str, object] = {
        "gate_id": "g1",
        "thread_id": "t",
        "run_id": "r",
        "tenant": "default",
        "kind": "plan",
        "step_uid": None,
    }
    row |= {"shown_hash": "h", "card": CARD, "requested_at": AT, "expires_at": AT, "status": "open"}
    return Gate.model_validate({**row, **fields})


def test_an_answer_is_its_word_its_hash_and_its_words() -> None:
    form = {
        "type": ["reject"],
        "plan_hash": ["h"],
        "message": [" no\r\nway "],
        "decided_by": ["eve"],
        "remember": ["run"],
    }
    assert answer_of(form, gate()) == {"type": "reject", "plan_hash": "h", "message": "no\nway"}
    assert (
        answer_of({"type": ["approve"], "plan_hash": ["h"], "remember": ["run"]}, gate())["remember"] == "run"
    )


def test_the_box_of_a_plan_counts_where_it_is_shown() -> None:
    form = {"type": ["approve"], "plan_hash": ["h"], "unseen": ["yes"]}
    later = gate(card={"goal": "g", "steps": [{**STEP, "shown_later": True}]})
    assert answer_of(form, later)["remember"] == {"unseen": True}
    assert "remember" not in answer_of(form, gate())


def test_a_field_that_comes_twice_counts_for_nothing() -> None:
    assert answer_of({"type": ["approve", "reject"], "plan_hash": ["h"]}, gate()) == {
        "type": "",
        "plan_hash": "h",
    }


def test_effects_are_said_one_by_one_and_what_is_left_out_stays_out() -> None:
    form = {
        "happened-a": ["yes"],
        "result-a": ['{"id": 7}'],
        "happened-b": ["no"],
        "result-b": ["x"],
        "happened-c": ["?"],
    }
    assert effects_of(form, ["a", "b", "c", "d"]) == [
        {"key": "a", "happened": True, "result": {"id": 7}},
        {"key": "b", "happened": False},
    ]


def test_fields_that_nobody_touched_are_the_plan_itself() -> None:
    form = {value.field: [value.text] for step in edited_steps(CARD, {}) for value in step.values}
    edit = edit_of(form, CARD)
    assert edit == {"goal": "g", "steps": CARD["steps"]}


def test_an_edit_changes_values_and_leaves_steps_out_with_what_waited_for_them() -> None:
    edit = edit_of({"param-2-0": ["Other"], "drop-1": ["yes"]}, CARD)
    assert edit["steps"] == [{**STEP, "id": "s2", "after": [], "params": {"title": "Other"}}]
    assert edited_steps(CARD, {"drop-1": ["yes"]})[0].dropped


def test_a_field_of_json_that_is_none_is_refused_with_its_name() -> None:
    with pytest.raises(GateError, match="step 1: n is no JSON"):
        edit_of({"param-1-1": ["three"]}, CARD)


@pytest.mark.parametrize(
    ("number", "page", "skipped"),
    [("1", 1, 0), ("3", 3, 100), ("0", 1, 0), ("-1", 1, 0), ("x", 1, 0), ("²", 1, 0), ("9" * 30, 1, 0)],
)
def test_a_page_is_read_from_an_address_and_nonsense_is_the_first(
    number: str, page: int, skipped: int
) -> None:
    read = paging(number, 50)
    assert (read.number, read.skipped) == (page, skipped)
    assert (read.of(101).last, read.of(0).last, paging("3", 50).of(101).until) == (3, 1, 101)
