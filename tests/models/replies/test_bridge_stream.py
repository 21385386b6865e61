"""What is shown of a reply in words while it comes in."""

from __future__ import annotations

import pytest

from planwright.models.replies.bridge_stream import visible_part

CALL = '<tool_call nonce="a1">{"name": "x", "arguments": {}}</tool_call>'
REPLIES = {
    "words": ("Four tickets are open.", "Four tickets are open."),
    "words before a call": (f"Let me look.\n\n{CALL}", "Let me look."),
    "a call alone": (CALL, ""),
    "words after a call": (f"Now {CALL} then", "Now"),
    "a call with another nonce": ('Look: <tool_call nonce="zz">{}</tool_call>', "Look:"),
    "a call spelled badly": ("So < Tool_Call >x", "So"),
    "a closing tag alone": ("So </tool_call> yes", "So"),
    "a thought": ("<think>first a, then b</think>\nYes.", "Yes."),
    "a thought about a call": (f"<think>maybe {CALL}</think>No.", "No."),
    "a thought without an end": ("<think>and so on", ""),
    "less than": ("3 < 4 and a<b, so <b>bold</b> it is", "3 < 4 and a<b, so <b>bold</b> it is"),
    "a word that begins like the tag": ("see <tool_calls> there", "see <tool_calls> there"),
    "an end that could be a tag": ("it is a <tool", "it is a <tool"),
    "space around": ("  \n yes \n ", "yes"),
}


@pytest.mark.parametrize("name", REPLIES)
@pytest.mark.parametrize("piece", range(1, 9))
def test_only_words_are_shown_and_none_is_taken_back(name: str, piece: int) -> None:
    reply, words = REPLIES[name]
    told = ""
    for end in range(piece, len(reply) + piece, piece):
        now = visible_part(reply[:end], ended=False)
        assert now.startswith(told)
        told = now
    assert words.startswith(told)
    assert visible_part(reply, ended=True) == words


def test_words_are_shown_before_the_reply_has_ended() -> None:
    assert visible_part("Four tickets are op", ended=False) == "Four tickets are op"
