"""Chunks as servers spell them, put into the documented form."""

from __future__ import annotations

from typing import Any

import pytest

from planwright.models.providers.chunk_form import ChunkForm, from_chunks


def pieces(*deltas: object) -> list[Any]:
    form = ChunkForm()
    return [form.chunk({"choices": [{"delta": delta}]}) for delta in deltas]


def test_calls_without_numbers_are_told_apart_by_their_names() -> None:
    def piece(name: str | None, arguments: str) -> dict[str, object]:
        return {"tool_calls": [{"function": {"name": name, "arguments": arguments}}]}

    out = pieces(piece("a", "{"), piece(None, "}"), piece("b", "{}"))
    calls = [chunk["choices"][0]["delta"]["tool_calls"][0] for chunk in out]
    assert [call["index"] for call in calls] == [0, 0, 1]
    assert [call.get("id") for call in calls] == ["call_0", None, "call_1"]
    assert "name" not in calls[1]["function"]


def test_numbers_with_gaps_become_places_in_a_row() -> None:
    def piece(index: int, **function: str) -> dict[str, object]:
        return {"tool_calls": [{"index": index, "function": function}]}

    out = pieces(piece(1, name="a"), piece(7, name="b"), piece(1, arguments="{}"))
    assert [c["choices"][0]["delta"]["tool_calls"][0]["index"] for c in out] == [0, 1, 0]


def test_a_stream_without_a_reason_of_its_end_gets_one_once() -> None:
    form = ChunkForm()
    assert form.last() is None  # nothing came
    form.chunk({"choices": [{"delta": {"tool_calls": [{"function": {"name": "a"}}]}}]})
    last: Any = form.last()
    assert last["choices"][0]["finish_reason"] == "tool_calls"
    assert form.last() is None


def spoken(*deltas: object) -> list[dict[str, Any]]:
    """The calls of a stream, joined by place as a client joins them."""
    calls: list[dict[str, Any]] = []
    for chunk in pieces(*deltas):
        for call in chunk["choices"][0]["delta"].get("tool_calls", ()):
            if call["index"] == len(calls):
                calls.append({"id": "", "name": "", "arguments": ""})
            calls[call["index"]]["id"] += call.get("id", "")
            for name in ("name", "arguments"):
                calls[call["index"]][name] += call["function"].get(name, "")
    return calls


def piece(arguments: str, name: str | None = None, **more: object) -> dict[str, object]:
    """Spell a piece of a call with number 0."""
    return {"tool_calls": [{"index": 0, "function": {"name": name, "arguments": arguments}, **more}]}


TWO = [
    {"id": "a", "name": "f", "arguments": '{"x": 1}'},
    {"id": "b", "name": "f", "arguments": '{"x": 2}'},
]
ONE = TWO[:1]


@pytest.mark.parametrize(
    ("deltas", "calls"),
    [
        (
            [piece("", "f", id="a"), piece('{"x": 1}'), piece("", "f", id="b"), piece('{"x": 2}', id="")],
            TWO,
        ),
        ([piece('{"x": 1}', "f", id="a"), piece('{"x": 2}', "f", id="b")], TWO),
        ([piece('{"x": ', "f", id="a"), piece("1}", "f", id="a")], ONE),
        ([piece('{"x": ', "f", id="a"), piece("1}", "f")], ONE),
        ([piece('{"x": ', "f", id="a"), piece("1}", id="null"), piece("", id="null")], ONE),
        ([piece('{"x": ', "f", id="a"), piece("1}", None, id="z")], ONE),
        ([piece('{"x": 1}', "f", id="a"), piece('{"x": 1}', "f", id="a")], ONE),
        ([piece("", None, id="a"), piece('{"x": ', "f"), piece("1}")], ONE),
        ([piece('{"x": 1}', "f", id="a"), piece("", "f")], ONE),
    ],
    ids=[
        "new ids at one number",
        "whole calls at one number",
        "id and name again",
        "name again",
        "null as an id",
        "another id",
        "the whole call again",
        "name behind the id",
        "name again at the end",
    ],
)
def test_calls_are_told_apart_whatever_their_pieces_repeat(deltas: list[Any], calls: list[Any]) -> None:
    assert spoken(*deltas) == calls


def test_calls_without_ids_at_one_number_are_told_apart_by_arguments_that_are_whole() -> None:
    calls = spoken(piece('{"x": ', "f"), piece("1}"), piece('{"x": 2}', "f"), piece('{"y": 3}', "g"))
    assert [(call["id"], call["name"], call["arguments"]) for call in calls] == [
        ("call_0", "f", '{"x": 1}'),
        ("call_1", "f", '{"x": 2}'),
        ("call_2", "g", '{"y": 3}'),
    ]


def test_a_name_in_two_pieces_is_one() -> None:
    (call,) = spoken(piece("", "edit_ex", id="a"), piece("", "isting"), piece("{}"))
    assert (call["name"], call["arguments"]) == ("edit_existing", "{}")


def test_two_calls_with_one_id_get_two() -> None:
    both = {"tool_calls": [{"index": at, "id": "a", "function": {"name": "f"}} for at in (0, 1)]}
    assert [call["id"] for call in spoken(both)] == ["a", "call_1"]


def test_one_call_needs_no_list_and_may_be_the_function_of_older_apis() -> None:
    function = {"name": "f", "arguments": '{"x": 1}'}
    assert spoken({"tool_calls": {"id": "a", "index": 0, "function": function}}) == ONE
    (call,) = spoken({"function_call": {"name": "f"}}, {"function_call": {"arguments": '{"x": 1}'}})
    assert (call["name"], call["arguments"]) == ("f", '{"x": 1}')


def test_a_message_in_the_place_of_a_delta_counts_where_no_delta_came() -> None:
    form, again = ChunkForm(), ChunkForm()
    choice: Any = form.chunk({"choices": [{"message": {"content": "Yes"}}]})["choices"]
    assert choice[0]["delta"] == {"content": "Yes"}
    again.chunk({"choices": [{"delta": {"content": "Yes"}}]})
    last: Any = again.chunk({"choices": [{"message": {"content": "Yes"}, "finish_reason": "stop"}]})
    assert last["choices"][0] == {"index": 0, "delta": {}, "finish_reason": "stop"}


def test_what_came_in_the_place_of_a_completion_is_told_once() -> None:
    form = ChunkForm()
    assert form.missing() is None
    form.chunk({"detail": "full"})
    error: Any = form.missing()
    assert error["error"]["message"] == 'it is no chat completion: {"detail": "full"}'
    assert (form.missing(), form.last()) == (None, None)


def test_a_stream_is_put_together_and_broken_off_where_nothing_ends_it() -> None:
    chunks = [{"choices": [{"delta": {"content": "Y"}}]}, {"choices": [{"delta": {"content": "es"}}]}]
    for ended, reason in ((True, "stop"), (False, "error")):
        whole: Any = from_chunks(chunks, ended=ended)
        assert whole["choices"][0]["message"]["content"] == "Yes"
        assert whole["choices"][0]["finish_reason"] == reason


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        (("stop", "stop"), ["stop", None]),
        (("stop", "tool_calls"), ["stop", None]),
        (("length", "length"), ["length", None]),
        (("length", "stop"), ["length", None]),
        (("stop", "length"), ["stop", "length"]),
    ],
)
def test_an_end_that_is_told_again_is_told_once(ends: tuple[str, str], told: list[str | None]) -> None:
    form = ChunkForm()
    said: list[Any] = [form.chunk({"choices": [{"delta": {}, "finish_reason": end}]}) for end in ends]
    assert [chunk["choices"][0]["finish_reason"] for chunk in said] == told
