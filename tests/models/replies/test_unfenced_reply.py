"""The marks of our fences in replies, whole and in pieces."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage

from planwright.models.providers.common_form import REASONING
from planwright.models.providers.sent_back import SENT_BACK
from planwright.models.replies.unfenced_reply import UnfencedStream, unfenced_reply
from planwright.prompts.fence import fenced

QUOTED = fenced("hello from others")
REPLIES = {
    "a quoted result": (f"It says:\n{QUOTED}\nThat is all.", "It says:\nhello from others\nThat is all."),
    "a result alone": (QUOTED, "hello from others"),
    "a mark alone": (f"So {QUOTED[:25]}yes", "So yes"),
    "a mark of somebody else": ("So </untrusted-0fe31dd1>\nyes", "So </untrusted-0fe31dd1>\nyes"),
    "tags and comparisons": ("a < b\n\n<u>c</u>\n", "a < b\n\n<u>c</u>\n"),
    "an end like a mark": ("So\n<untrusted-0f", "So\n<untrusted-0f"),
}


@pytest.mark.parametrize("name", REPLIES)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11, 24, 25, 26, 200])
def test_no_piece_of_a_stream_shows_a_mark_and_none_of_the_words_is_lost(name: str, size: int) -> None:
    reply, words = REPLIES[name]
    stream = UnfencedStream()
    pieces = [stream.feed(reply[at : at + size]) for at in range(0, len(reply), size)]
    assert "".join([*pieces, stream.rest()]) == words


def test_words_and_calls_lose_the_marks_and_what_the_provider_wants_back_keeps_them() -> None:
    own = {"message": {"reasoning": QUOTED}}
    call = {"name": "write", "args": {"to": ["a", {"text": QUOTED}], "n": 1}, "id": "c1"}
    extras = {SENT_BACK: own, REASONING: QUOTED}
    reply = unfenced_reply(AIMessage(QUOTED, tool_calls=[call], additional_kwargs=extras))
    assert reply.text == "hello from others"
    assert reply.tool_calls[0]["args"] == {"to": ["a", {"text": "hello from others"}], "n": 1}
    assert reply.additional_kwargs == {SENT_BACK: own, REASONING: "hello from others"}


def test_a_reply_without_marks_is_the_same_one() -> None:
    reply = AIMessage("a < b", tool_calls=[{"name": "write", "args": {"text": "c"}, "id": "c1"}])
    assert unfenced_reply(reply) is reply
