"""After repair, a provider accepts any conversation: each call is answered once, directly after it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from planwright.models.conversation.history import UNANSWERED, normalise, repair


def call(id_: str, name: str = "read", args: Any = None) -> dict[str, Any]:
    return {"name": name, "args": args or {}, "id": id_, "type": "tool_call"}


def is_valid(messages: list[AnyMessage]) -> bool:
    """Say whether every reply is followed by exactly its results, in order, and nothing else answers."""
    left = list(messages)
    while left:
        message = left.pop(0)
        if isinstance(message, ToolMessage):
            return False
        for made in message.tool_calls if isinstance(message, AIMessage) else ():
            if not (left and isinstance(left[0], ToolMessage) and left[0].tool_call_id == made["id"]):
                return False
            left.pop(0)
    return True


_message: st.SearchStrategy[AnyMessage] = st.one_of(
    st.builds(HumanMessage, st.text(max_size=5)),
    st.builds(ToolMessage, st.text(max_size=5), tool_call_id=st.sampled_from("abcdef")),
)


@given(st.lists(st.one_of(_message, st.just(None)), max_size=14))
def test_any_conversation_is_valid_after_repair(drawn: list[AnyMessage | None]) -> None:
    ids = iter("abcdefghijklmn")
    messages = [
        message or AIMessage("", tool_calls=[call(next(ids)) for _ in range(1 + number % 2)])
        for number, message in enumerate(drawn[:7])
    ]
    repaired = repair(messages)
    assert is_valid(repaired)
    assert [m for m in repaired if not isinstance(m, ToolMessage)] == [
        m for m in messages if not isinstance(m, ToolMessage)
    ]


def test_results_move_behind_their_calls_in_call_order() -> None:
    reply = AIMessage("", tool_calls=[call("a"), call("b")])
    results = [ToolMessage("two", tool_call_id="b"), ToolMessage("one", tool_call_id="a")]
    repaired = repair([HumanMessage("go"), reply, HumanMessage("well?"), *results])
    assert [message.text for message in repaired] == ["go", "", "one", "two", "well?"]


def test_a_call_without_a_result_is_answered_with_an_error() -> None:
    (_, answer) = repair([AIMessage("", tool_calls=[call("a")])])
    assert isinstance(answer, ToolMessage)
    assert (answer.text, answer.status) == (UNANSWERED, "error")


def test_a_second_result_of_a_call_is_left_out() -> None:
    results = [ToolMessage("first", tool_call_id="a"), ToolMessage("second", tool_call_id="a")]
    assert [m.text for m in repair([AIMessage("", tool_calls=[call("a")]), *results])] == ["", "first"]


@pytest.mark.parametrize("id_", ["", None, "taken"])
def test_a_call_without_an_id_of_its_own_gets_one(id_: str | None) -> None:
    reply = AIMessage("", tool_calls=[{**call("x"), "id": id_}, {**call("x"), "id": id_}])
    clean, wrong = normalise(reply, "main_1", taken={"taken"})
    assert len({made["id"] for made in clean.tool_calls} - {"taken", "", None}) == 2
    assert wrong == {}


def test_arguments_that_are_no_object_are_an_error_of_that_call_alone() -> None:
    invalid = {"name": "read", "args": '{"path": ', "id": "b", "error": None, "type": "invalid_tool_call"}
    reply = AIMessage("", tool_calls=[call("a")], invalid_tool_calls=[invalid])
    clean, wrong = normalise(reply, "main_1", taken=())
    assert [made["id"] for made in clean.tool_calls] == ["a", "b"]
    assert list(wrong) == [1]
    assert clean.invalid_tool_calls == []


@pytest.mark.parametrize("name", [None, "", "a b; rm", "x" * 200, "mail.search"])
def test_a_name_is_spelled_so_that_a_provider_takes_it_back(name: str | None) -> None:
    reply = AIMessage("", invalid_tool_calls=[{**call("a"), "name": name, "args": "{}", "error": None}])
    clean, _ = normalise(reply, "main_1", taken=())
    sent = clean.tool_calls[0]["name"]
    assert 1 <= len(sent) <= 64
    assert all(letter.isalnum() or letter in "_-" for letter in sent)


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_no_call_of_a_reply_that_was_cut_off_is_made(reason: str) -> None:
    reply = AIMessage("", tool_calls=[call("a"), call("b")], response_metadata={"finish_reason": reason})
    clean, wrong = normalise(reply, "main_1", taken=())
    assert [made["id"] for made in clean.tool_calls] == ["a", "b"]
    assert list(wrong) == [0, 1]
    assert all(text.startswith("not made: the ") for text in wrong.values())
