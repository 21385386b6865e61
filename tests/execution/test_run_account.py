"""What an answer is written from: results, as much of each as fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from planwright.execution.run_account import LONGEST_OUTPUT, fitted, without_defaults

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


@pytest.mark.parametrize("nothing", [None, [], {}, ""])
def test_that_a_step_brought_nothing_is_told(nothing: JsonValue) -> None:
    read: dict[str, JsonValue] = {"id": "s1", "status": "completed", "output": nothing, "changed": False}
    assert without_defaults(read) == {"output": nothing}
    assert without_defaults({**read, "changed": True}) == {"output": nothing, "changed": True}
    assert without_defaults({**read, "status": "failed"}) == {"status": "failed"}
