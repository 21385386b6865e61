"""What a tool answers, as JSON."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import JsonValue

from planwright.extras.mcp.results import LONGEST, error_of, result_of

TEXT = {"type": "text", "text": "a"}
IMAGE: dict[str, JsonValue] = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
CASES: list[tuple[dict[str, Any], bool, JsonValue]] = [
    ({"content": [TEXT]}, False, {"text": "a"}),
    ({"content": [TEXT, TEXT]}, False, {"text": "a\na"}),
    ({"content": []}, False, {"text": ""}),
    ({}, False, {"text": ""}),
    ({"content": [TEXT, IMAGE]}, False, {"text": "a", "content": [IMAGE]}),
    ({"content": [TEXT], "structuredContent": {"n": 1}}, True, {"n": 1}),
    ({"content": [TEXT], "structuredContent": {"n": 1}}, False, {"text": "a", "structured": {"n": 1}}),
    ({"content": [TEXT]}, True, {"text": "a"}),
]


@pytest.mark.parametrize(("reply", "declared", "result"), CASES)
def test_a_reply_is_a_result(reply: dict[str, Any], declared: bool, result: JsonValue) -> None:
    assert error_of(reply) is None
    assert result_of(reply, declared) == result


def test_an_error_is_told_on_one_line_and_not_at_any_length() -> None:
    assert error_of({"isError": True, "content": [{"type": "text", "text": "a\n b"}]}) == "a b"
    assert error_of({"isError": True, "content": []}) == "it gave no reason"
    told = error_of({"isError": True, "content": [{"type": "text", "text": "a" * 5000}]})
    assert told is not None
    assert len(told) == LONGEST
