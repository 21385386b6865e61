"""How the embedded planner tells of steps that did not complete."""

from __future__ import annotations

import pytest

from planwright.models.offline.answering import answer_from_results


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
