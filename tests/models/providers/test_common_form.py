"""Completions and chunks as servers spell them, put into the documented form."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from planwright.models.providers.common_form import (
    completion,
    plain_arguments,
    read_reason,
    read_usage,
)


def whole(message: object, **choice: object) -> Any:
    return completion({"choices": [{"message": message, **choice}]})


def test_a_bare_completion_gets_all_that_is_documented() -> None:
    out = whole({"content": "Yes."})
    assert out["object"] == "chat.completion"
    assert (out["created"], out["model"], out["usage"]) == (0, "", None)
    assert out["choices"] == [
        {"message": {"content": "Yes.", "role": "assistant"}, "index": 0, "finish_reason": "stop"}
    ]


def test_what_a_model_thought_is_no_part_of_its_answer() -> None:
    parts = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Yes"}, "."]
    assert whole({"content": parts})["choices"][0]["message"]["content"] == "Yes."


def test_a_whole_call_gets_an_id_a_type_and_its_arguments_as_a_text() -> None:
    call = {"id": 3, "function": {"name": "look", "arguments": {"at": "ä"}}}
    choice = whole({"tool_calls": [call, {"function": {"name": "end", "arguments": None}}]})["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    first, second = choice["message"]["tool_calls"]
    assert (first["id"], first["type"]) == ("3", "function")
    assert first["function"] == {"name": "look", "arguments": '{"at": "ä"}'}
    assert (second["id"], second["function"]["arguments"]) == ("call_1", "{}")


@pytest.mark.parametrize("calls", [None, [], "none", [None]])
def test_no_calls_are_no_calls(calls: object) -> None:
    assert "tool_calls" not in whole({"content": "Yes.", "tool_calls": calls})["choices"][0]["message"]


@pytest.mark.parametrize(
    ("value", "calls", "reason"),
    [
        (None, True, None),
        ("", False, None),
        ("STOP", False, "stop"),
        ("eos", False, "stop"),
        ("stop", True, "tool_calls"),
        ("max_tokens", True, "length"),
        ("content_filter", False, "content_filter"),
        ("STOPSTOP", False, "stop"),
        ("lengthlength", False, "length"),
        ("RECITATION", True, "content_filter"),
        ("Whatever", True, "whatever"),
        (7, False, "7"),
    ],
)
def test_the_reason_of_the_end_has_the_documented_name_or_its_own(
    value: object, calls: bool, reason: str | None
) -> None:
    assert read_reason(value, calls) == reason


@pytest.mark.parametrize("value", [None, 7, [], {}, {"prompt_tokens": None, "completion_tokens": 2}])
def test_usage_without_numbers_is_none(value: object) -> None:
    assert read_usage(value) is None


def test_usage_is_read_where_it_is_text_and_without_a_total() -> None:
    used: Any = read_usage({"prompt_tokens": "9", "completion_tokens": 2.0, "prompt_tokens_details": None})
    assert used == {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
    details = {"cached_tokens": 4}
    used = read_usage({"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": details})
    assert used["prompt_tokens_details"] == details


@pytest.mark.parametrize("spell", [str, json.dumps, "```json\n{}\n```".format, " ``` \n\n{}```\n".format])
def test_arguments_come_out_of_fences_and_second_encodings(spell: Any) -> None:
    text = json.dumps({"a": "b"})
    assert json.loads(plain_arguments(spell(text))) == {"a": "b"}


@pytest.mark.parametrize(
    ("text", "plain"),
    [("", "{}"), (" ", "{}"), ("null", "{}"), ('"a', '"a'), ('{"a', '{"a'), ('{"a": 1}', '{"a": 1}')],
)
def test_nothing_is_no_arguments_and_broken_json_stays_as_it_is(text: str, plain: str) -> None:
    assert plain_arguments(text) == plain


def test_a_fence_without_an_end_takes_no_time() -> None:
    text = "```\n" + " " * 100_000 + "x"
    before = time.process_time()
    assert plain_arguments(text) == text
    assert time.process_time() - before < 1


@pytest.mark.parametrize("text", ['"a"', "[1]", "12", "true", '"[1]"'])
def test_json_that_is_no_object_is_made_none_so_that_it_goes_back_to_the_model(text: str) -> None:
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(plain_arguments(text))


def test_one_call_needs_no_list_and_may_be_the_function_of_older_apis() -> None:
    function = {"name": "f", "arguments": "{}"}
    for message in ({"tool_calls": {"id": "call_0", "function": function}}, {"function_call": function}):
        choice = whole(message)["choices"][0]
        (call,) = choice["message"]["tool_calls"]
        assert (call["id"], call["function"], choice["finish_reason"]) == ("call_0", function, "tool_calls")


def test_a_refusal_is_what_a_model_says() -> None:
    assert (
        whole({"content": None, "refusal": "I will not."})["choices"][0]["message"]["content"]
        == "I will not."
    )
    assert whole({"content": "Yes", "refusal": None})["choices"][0]["message"]["content"] == "Yes"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"choices": []}, 'it is no chat completion: {"choices": []}'),
        (
            {"choices": None, "detail": "full"},
            'it is no chat completion: {"choices": null, "detail": "full"}',
        ),
        ({"error": "full"}, "full"),
        ({"object": "error", "message": "full"}, "full"),
    ],
)
def test_what_is_no_completion_is_an_error_that_says_what_came(body: dict[str, object], says: str) -> None:
    error: Any = completion(body)["error"]
    assert error["message"] == says
