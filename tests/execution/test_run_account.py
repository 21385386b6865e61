"""What an answer is written from: results, as much of each as fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planwright.execution.run_account import LONGEST_OUTPUT, fitted

if TYPE_CHECKING:
    from pydantic import JsonValue

WORDS = "word " * 200


def test_a_short_output_stays_as_it_is() -> None:
    output: JsonValue = {"text": WORDS, "rows": [*range(20)]}
    assert fitted(output) == output


def test_what_another_step_has_used_is_told_in_fewer_words() -> None:
    told = fitted({"text": WORDS, "rows": [*range(20)]}, used=True)
    assert isinstance(told, dict)
    assert len(str(told["text"])) < 520
    assert told["rows"] == [*range(20)]


def test_a_long_output_is_clipped_until_it_fits() -> None:
    told = fitted([{"text": WORDS} for _ in range(40)])
    assert len(str(told)) <= 2 * LONGEST_OUTPUT
    assert "more]" in str(told)
