"""What a model sees of a conversation that was shortened, and where it may be cut."""

from __future__ import annotations

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately

from planwright.models.conversation.shortening import boundary, cut_off, leaving_out, places_to_cut
from planwright.state.compaction import Compaction, visible_messages


def asks(id_: str, text: str = "go on") -> HumanMessage:
    return HumanMessage(text, id=id_)


def calls(id_: str, *call_ids: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "t", "args": {}, "id": call} for call in call_ids], id=id_)


def result(call: str, text: str = "r") -> ToolMessage:
    return ToolMessage(text, tool_call_id=call, id=f"of_{call}")


LOOP: list[AnyMessage] = [
    asks("task", "the task"),
    calls("a", "1", "2"),
    result("1"),
    result("2"),
    calls("b", "3"),
    result("3"),
    AIMessage("so far", id="c"),
    calls("d", "4"),
    result("4"),
]


def ids(messages: list[AnyMessage]) -> list[str]:
    return [str(message.id) for message in messages]


def test_a_conversation_that_was_not_shortened_is_seen_whole() -> None:
    assert visible_messages(LOOP, None) == LOOP
    assert visible_messages(LOOP, Compaction(upto="gone", summary="s")) == LOOP


def test_a_summary_stands_where_the_oldest_part_was_and_the_request_stays() -> None:
    seen = visible_messages(LOOP, Compaction(upto="of_3", summary="three calls", kept="task", left_out=5))
    assert ids(seen) == ["summary_until_of_3", "task", "c", "d", "of_4"]
    assert "three calls" in seen[0].text


def test_without_a_summary_it_says_how_much_is_left_out() -> None:
    seen = visible_messages(LOOP, Compaction(upto="of_2", kept="task", left_out=3))
    assert "3 earlier messages are left out" in seen[0].text


def test_a_call_is_never_parted_from_its_results() -> None:
    assert places_to_cut(LOOP) == [1, 4, 6, 7]
    for share in (0.1, 0.3, 0.5, 0.6, 0.8, 0.95):
        at = boundary(LOOP, share)
        assert at <= share * len(LOOP)
        assert not isinstance(LOOP[at], ToolMessage)


def test_the_last_exchange_is_never_left_out() -> None:
    found = cut_off(LOOP, None, None, 1)
    assert found is not None
    assert ids(visible_messages(LOOP, found))[-2:] == ["d", "of_4"]
    assert "task" in ids(visible_messages(LOOP, found))


def test_as_little_as_possible_is_cut_off() -> None:
    long: list[AnyMessage] = [asks(str(n), "word " * 100) for n in range(20)]
    most = count_tokens_approximately(long) // 2
    found = cut_off(long, None, None, most)
    assert found is not None
    left = count_tokens_approximately(visible_messages(long, found))
    assert most * 0.8 < left <= most


def test_what_was_left_out_before_stays_left_out() -> None:
    first = leaving_out(LOOP, 4, None, "first", 2000)
    assert first is not None
    seen = visible_messages(LOOP, first)
    second = leaving_out(seen, 4, first, "second", 2000)
    assert second is not None
    assert second.left_out == 5
    assert ids(visible_messages(LOOP, second)) == ["summary_until_of_3", "task", "c", "d", "of_4"]


def test_nothing_changes_when_there_is_nothing_to_leave_out() -> None:
    alone: list[AnyMessage] = [asks("task", "word " * 1000)]
    assert boundary(alone, 0.6) == 0
    assert cut_off(alone, None, None, 10) is None
    assert leaving_out(LOOP, 1, None, "s", 2000) is None
