"""What a server sends beside the documented fields, gathered from whole messages and from pieces of them."""

from __future__ import annotations

from typing import Any

import pytest

from planwright.models.providers.sent_back import SentBack, own_fields, with_sent_back, without_own_field

Json = dict[str, Any]
FORM = {"format": "anthropic-claude-v1", "index": 0}


def gathered(*pieces: Json) -> Json | None:
    """Gather what is sent back of the pieces of a message."""
    own = SentBack()
    for piece in pieces:
        own.add(piece)
    return own.whole()


@pytest.mark.parametrize(
    "pieces",
    [
        [],
        [{"role": "assistant", "content": "Four."}],
        [{"content": None, "refusal": None, "annotations": [], "reasoning_content": None}],
        [{"content": [{"type": "text", "text": "Four."}]}],
    ],
)
def test_nothing_is_kept_of_what_is_documented(pieces: list[Json]) -> None:
    assert gathered(*pieces) is None


def test_thoughts_in_pieces_are_one_text_also_where_it_is_empty() -> None:
    pieces: list[Json] = [
        {"reasoning_content": "Let "},
        {"reasoning_content": "me see."},
        {"reasoning_content": None},
    ]
    assert gathered(*pieces) == {"message": {"reasoning_content": "Let me see."}}
    assert gathered({"reasoning_content": ""}) == {"message": {"reasoning_content": ""}}


def test_a_field_that_each_piece_says_again_is_said_once() -> None:
    assert gathered({"request_id": "r1"}, {"request_id": "r1"}) == {"message": {"request_id": "r1"}}


def test_details_in_pieces_are_what_they_were_in_one() -> None:
    text = {"type": "reasoning.text", "text": "Let me see.", "signature": "sig", **FORM}
    encrypted = {"type": "reasoning.encrypted", "data": "QUJD", **FORM}
    other = {"type": "reasoning.text", "text": "Then.", **FORM, "index": 1}
    whole = {"message": {"reasoning_details": [text, encrypted, encrypted, other]}}
    pieces: list[Json] = [
        {"type": "reasoning.text", "text": "Let me ", **FORM},
        {"type": "reasoning.text", "text": "see.", "signature": None, **FORM},
        {"type": "reasoning.text", "signature": "sig", **FORM},
        encrypted,
        encrypted,
        other,
    ]
    assert gathered(*({"reasoning_details": [piece]} for piece in pieces)) == whole
    assert gathered({"reasoning_details": [text, encrypted, encrypted, other]}) == whole


def test_a_content_with_thoughts_in_it_is_kept_as_a_list() -> None:
    def thinking(text: str) -> Json:
        return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}

    streamed = gathered({"content": [thinking("Let ")]}, {"content": [thinking("me.")]}, {"content": "Four."})
    answer = {"type": "text", "text": "Four."}
    assert streamed == {"message": {"content": [thinking("Let me."), answer]}}
    assert gathered({"content": [thinking("Let me."), answer]}) == streamed


def test_fields_of_calls_are_kept_by_the_id_of_the_call() -> None:
    own = SentBack()
    own.add_call("c1", {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}})
    own.add_call("c2", {"index": 1, "extra_content": {"google": {"a": 1}}, "function": {"signature": "s"}})
    own.add_call("c2", {"index": 1, "extra_content": {"google": {"b": 2}}})
    assert own.whole() == {
        "calls": {"c2": {"extra_content": {"google": {"a": 1, "b": 2}}, "function": {"signature": "s"}}}
    }


def test_a_message_is_spelled_as_its_server_sent_it() -> None:
    call: Json = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message: Json = {"role": "assistant", "content": None, "tool_calls": [call, {**call, "id": "c2"}]}
    own = {"message": {"reasoning": "Hm."}, "calls": {"c1": {"extra": 1, "function": {"signature": "s"}}}}
    spelled = with_sent_back(message, own)
    assert spelled["reasoning"] == "Hm."
    first = {**call, "extra": 1, "function": {**call["function"], "signature": "s"}}
    assert spelled["tool_calls"] == [first, {**call, "id": "c2"}]
    assert with_sent_back(message, None) is message
    assert with_sent_back(message, {"secret": "KEY"}) == message


def test_own_fields_are_named_and_can_be_left_out() -> None:
    call = {"id": "c1", "type": "function", "function": {}, "extra_content": {}}
    messages: list[Json] = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": None, "reasoning": "Hm.", "tool_calls": [call]},
        {"role": "tool", "content": "4", "tool_call_id": "c1"},
    ]
    assert own_fields(messages) == {"reasoning", "extra_content"}
    without = without_own_field("extra_content")(without_own_field("reasoning")(messages))
    assert own_fields(without) == set()
    assert [message.get("content") for message in without] == ["Hello", None, "4"]
