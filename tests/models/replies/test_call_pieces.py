"""Pieces of calls, put together whatever their numbers, ids and names repeat."""

from __future__ import annotations

import time

import pytest
from langchain_core.messages import AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk

from planwright.models.replies.call_pieces import CallPieces
from planwright.models.replies.held_calls import LONGEST_QUOTED, HeldCalls


def added(*pieces: tuple[object, object, str, str]) -> list[tuple[str, str, str]]:
    held = CallPieces()
    for piece in pieces:
        held.add(*piece)
    return [(call.id, call.name, call.arguments) for call in held.calls]


def test_pieces_say_what_is_new_in_them() -> None:
    held = CallPieces()
    first, again, other = (
        held.add(0, "a", "f", '{"x": '),
        held.add(0, "a", "f", "1}"),
        held.add(0, "b", "g", "{}"),
    )
    assert (first.place, first.begins, first.name, first.arguments) == (0, True, "f", '{"x": ')
    assert (again.place, again.begins, again.name, again.arguments) == (0, False, "", "1}")
    assert (other.place, other.begins, other.name) == (1, True, "g")


@pytest.mark.parametrize("number", [0, None, "0"])
@pytest.mark.parametrize("id_", ["", None, "null"])
def test_calls_of_one_number_without_ids_end_where_their_arguments_do(number: object, id_: object) -> None:
    calls = added((number, id_, "f", '{"x": "}'), (number, id_, "f", '{"}'), (number, id_, "f", '{"x": 2}'))
    assert calls == [("", "f", '{"x": "}{"}'), ("", "f", '{"x": 2}')]


def test_calls_without_arguments_are_told_apart_by_their_ids() -> None:
    assert added((0, "a", "f", ""), (0, "b", "f", "")) == [("a", "f", ""), ("b", "f", "")]


def test_many_pieces_that_repeat_the_name_take_no_time() -> None:
    held, before = CallPieces(), time.process_time()
    held.add(0, "a", "f", '{"x": "')
    for piece in ("} {", "{", "}") * 15_000:
        held.add(0, "a", "f", piece)
    assert len(held.calls) == 1
    assert time.process_time() - before < 5


def test_calls_are_held_back_until_they_are_whole() -> None:
    held = HeldCalls()
    for args in ('{"x": ', "1}"):
        message = AIMessageChunk(
            content="", tool_call_chunks=[tool_call_chunk(name="f", args=args, id="a", index=0)]
        )
        assert held.take(message) == args
        assert (message.tool_calls, message.tool_call_chunks) == ([], [])
    (whole,) = held.whole()
    assert (whole["name"], whole["args"], whole["id"], whole["index"]) == ("f", '{"x": 1}', "a", 0)


def test_long_arguments_that_are_no_json_are_quoted_in_part() -> None:
    held = HeldCalls()
    chunk = tool_call_chunk(name="f", args="{" * (LONGEST_QUOTED + 1), id="a", index=0)
    held.take(AIMessageChunk(content="", tool_call_chunks=[chunk]))
    (whole,) = held.whole()
    assert len(whole["args"] or "") < LONGEST_QUOTED + 10
