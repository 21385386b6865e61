"""How the embedded planner tells of steps that did not complete."""

from __future__ import annotations

import pytest

from planwright.presentation.answering import answer_from_results


@pytest.mark.parametrize(
    ("status", "error", "line"),
    [
        ("rejected", "rejected by ada: not today", "Wipe it: rejected by ada: not today"),
        ("failed", "there is no file", "Wipe it: failed: there is no file"),
        ("skipped", "", "Wipe it: skipped"),
    ],
)
def test_a_step_that_did_not_complete_is_told_once_with_its_reason(
    status: str, error: str, line: str
) -> None:
    result = {"status": status, "error": error, "description": "Wipe it", "capability": "work.wipe"}
    assert answer_from_results([result]) == line


def test_what_a_capability_of_ones_own_has_read_is_told_field_by_field() -> None:
    output = {"order": "A-7", "amount": 49.9, "paid_at": "", "lines": {"x": 1}}
    read = {"description": "Look the order up", "capability": "orders.lookup", "output": output}
    assert answer_from_results([read]) == "Look the order up: order A-7, amount 49.9."
    more = {**read, "output": {"customer": "Ada", "lines": [{"sku": "x", "count": 3}]}}
    assert answer_from_results([more]).splitlines() == [
        "Look the order up: customer Ada: one found.",
        "  - sku x, count 3",
    ]
    assert answer_from_results([{**read, "changed": True}]) == "Look the order up: done (amount 49.9)."
