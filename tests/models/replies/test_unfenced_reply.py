"""The marks of our fences in replies, whole and in pieces."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage

from planwright.models.providers.common_form import REASONING
from planwright.models.providers.sent_back import SENT_BACK
from planwright.models.replies.unfenced_reply import UnfencedStream, unfenced_reply
from planwright.prompts.fence import fenced

OTHERS = "hello from others"
REPLIES = {
    "a quoted result": ("It says:\nQUOTED\nThat is all.", f"It says:\n{OTHERS}\nThat is all."),
    "a result alone": ("QUOTED", OTHERS),
    "a mark alone": ("So MARKyes", "So yes"),
    "a mark of somebody else": ("So </untrusted-0fe31dd1>\nyes", "So </untrusted-0fe31dd1>\nyes"),
    "tags and comparisons": ("a < b\n\n<u>c</u>\n", "a < b\n\n<u>c</u>\n"),
    "an end like a mark": ("So\n<untrusted-0f", "So\n<untrusted-0f"),
}


@pytest.mark.parametrize("name", REPLIES)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11, 24, 25, 26, 200])
def test_no_piece_of_a_stream_shows_a_mark_and_none_of_the_words_is_lost(name: str, size: int) -> None:
    quoted = fenced(OTHERS)  # its mark is of the workspace that was opened last in this process
    reply, words = REPLIES[name]
    reply = reply.replace("QUOTED", quoted).replace("MARK", quoted[:25])
    stream = UnfencedStream()
    pieces = [stream.feed(reply[at : at + size]) for at in range(0, len(reply), size)]
    assert "".join([*pieces, stream.rest()]) == words


def test_words_and_calls_lose_the_marks_and_what_the_provider_wants_back_keeps_them() -> None:
    quoted = fenced(OTHERS)
    own = {"message": {"reasoning": quoted}}
    call = {"name": "write", "args": {"to": ["a", {"text": quoted}], "n": 1}, "id": "c1"}
    extras = {SENT_BACK: own, REASONING: quoted}
    reply = unfenced_reply(AIMessage(quoted, tool_calls=[call], additional_kwargs=extras))
    assert reply.text == "hello from others"
    assert reply.tool_calls[0]["args"] == {"to": ["a", {"text": "hello from others"}], "n": 1}
    assert reply.additional_kwargs == {SENT_BACK: own, REASONING: "hello from others"}


def test_a_reply_without_marks_is_the_same_one() -> None:
    reply = AIMessage("a < b", tool_calls=[{"name": "write", "args": {"text": "c"}, "id": "c1"}])
    assert unfenced_reply(reply) is reply
