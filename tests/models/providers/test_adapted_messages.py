"""Messages in the forms that servers ask for."""

from __future__ import annotations

from typing import Any

from planwright.models.providers.adapted_messages import short_ids, word_between

CALL = {"type": "function", "function": {"name": "f", "arguments": "{}"}}


def test_calls_and_their_results_get_the_same_short_id() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "tool_calls": [{"id": "call_1", **CALL}, {"id": "abcdefgh1", **CALL}]},
        {"role": "tool", "content": "4", "tool_call_id": "call_1"},
        {"role": "tool", "content": "5", "tool_call_id": "abcdefgh1"},
    ]
    first, reply, one, two = short_ids(messages)
    ids = [call["id"] for call in reply["tool_calls"]]  # type: ignore[attr-defined]
    assert first == messages[0]
    assert [one["tool_call_id"], two["tool_call_id"]] == ids
    assert ids[1] == "abcdefgh1"
    assert all(len(id_) == 9 and id_.isalnum() for id_ in ids)


def test_a_word_stands_between_a_result_and_a_user() -> None:
    roles = ["system", "user", "assistant", "tool", "tool", "user", "user"]
    spelled = word_between([{"role": role, "content": "x"} for role in roles])
    assert [message["role"] for message in spelled] == [*roles[:5], "assistant", *roles[5:]]
