"""The fence around what others wrote: tool results, mail, web pages, memories.

`<untrusted-N>` opens it and `</untrusted-N>` closes it. Whoever wrote the text cannot know N, so the
text cannot close its own fence; what in it looks like a fence, a section of ours, a tool call, a turn
of the conversation or a hidden character is spelled as a JSON escape (`\\u003c`): to be seen, and lost
nowhere. A text that is JSON stays the same JSON.
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Sequence
from functools import lru_cache
from secrets import token_bytes
from typing import Any

from langchain_core.messages import AnyMessage, ToolMessage

from planwright.state.compaction import SUMMARY_ID

OURS = {"planwright": "ours"}
"""Marks (in `additional_kwargs`) a ToolMessage whose words are the program's own or a person's."""
REMEMBERED = 512  # texts in their fences: about as many as fit into a conversation

_TAGS = (
    r"untrusted tool tools function functions invoke parameter system assistant user human developer model"
    r" instruction instructions think thinking task history newest memories capabilities schemas about"
    r" databases gates decisions models done draft findings said cannot call criterion output answer known"
    r" request result results returns words wrong goal expected missing refused approach failed step"
    r" bos eos s start_of_turn end_of_turn"
)
_TAG = re.compile(
    rf"<(?=[\s/]*+(?:(?:{'|'.join(_TAGS.split())})\b|(?:untrusted|tool|function|im|header)[_-])|[|｜]|<\s*+/?SYS)",
    re.IGNORECASE,
)
_TURN = re.compile(
    r"(?P<role>(?:^|\\n|\")[ \t>*#]*+(?:Human|Assistant|System|User|Developer|HUMAN|ASSISTANT|SYSTEM|USER"
    r"|DEVELOPER|Instruction|Instructions|Response)\s{0,2}):|\[(?=/?(?:INST|SYS|TOOL_CALLS|AVAILABLE_TOOLS)\b)",
    re.MULTILINE,
)
_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b"
    "\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e0fff]|\r(?!\n)|(?<![^\x00-\x7f])[\u200c\u200d\ufe0f]|[\u200c\u200d](?![^\x00-\x7f])"
)


PIECE = 50_000  # characters: `re` holds the interpreter for a whole call, 0.5 s for a million `<`


def neutral(text: str) -> str:
    """Spell what could be taken for something else than text as JSON escapes.

    It goes piece by piece, so that other threads go on meanwhile. A piece begins with `<`, or with two of
    them: no pattern of ours has one but there.
    """
    start, pieces = 0, []
    while (cut := text.find("<", start + PIECE)) != -1:
        cut -= text[cut - 1] == "<"
        pieces.append(_neutral(text[start:cut]))
        start = cut
    return "".join([*pieces, _neutral(text[start:])])


def _neutral(text: str) -> str:
    text = _HIDDEN.sub(lambda match: json.dumps(match[0])[1:-1], text)
    text = _TAG.sub(r"\\u003c", text)
    return _TURN.sub(lambda match: f"{match['role']}\\u003a" if match["role"] else "\\u005b", text)


_MARK = re.compile(
    r"(?:\n|(?<!\\)\\n)?(?:<|(?<!\\)\\u003c)/untrusted-(?P<closed>[0-9a-f]{12})(?:>|\\u003e)"
    r"|(?:<|(?<!\\)\\u003c)untrusted-(?P<opened>[0-9a-f]{12})(?:>|\\u003e)(?:\n|\\n)?"
)
"""A mark with its line break, in a text or in a text that is spelled as JSON."""
_key = [token_bytes(32)]


def use_key(key: bytes) -> None:
    """Make fences by a key that other processes of the same store have, too, and nobody else."""
    _key[0] = key
    _harmless.cache_clear()


def sign(text: str) -> str:
    """Sign a text of ours with that key."""
    return hmac.digest(_key[0], text.encode("utf-8", "surrogatepass"), "sha256").hex()


def marks(text: str) -> tuple[str, str]:
    """Make what opens and closes the fence of a text.

    The nonce comes from the text and a key that no model and no receiver ever sees: whoever wrote the text
    cannot know it, and the same text has the same one, so that providers can go on from a prompt they know.
    Its last four digits come from the others, so that a mark is known as ours wherever it turns up.
    """
    nonce = sign(text)[:8]
    nonce += sign(nonce)[:4]
    return f"<untrusted-{nonce}>", f"</untrusted-{nonce}>"


def unfenced(text: str) -> str:
    """Take our marks off what a model says: it repeats them, and they mean nothing to who reads that."""
    return _MARK.sub(_unmarked, text) if "untrusted-" in text else text


def _unmarked(mark: re.Match[str]) -> str:
    nonce = mark["opened"] or mark["closed"]
    return "" if hmac.compare_digest(sign(nonce[:8])[:4], nonce[8:]) else mark[0]


def fenced(text: str) -> str:
    """Put a text, in which nothing is left that looks like something else, into a fence of its own."""
    opens, closes = marks(text)
    return f"{opens}\n{text}\n{closes}"


class Fences:
    """Put tool results, and the summary of what is left out, into fences, each with a nonce of its own."""

    def around(self, messages: Sequence[AnyMessage]) -> list[AnyMessage]:
        """Fence a summary, and every tool result that is not marked as ours; no message itself is changed."""
        return [self._fenced(message) if _foreign(message) else message for message in messages]

    def _fenced(self, message: AnyMessage) -> AnyMessage:
        if isinstance(message.content, str):
            return message.model_copy(update={"content": _harmless(message.content)})
        return message.model_copy(update={"content": [self._block(block) for block in message.content]})

    def _block(self, block: Any) -> Any:
        if isinstance(block, str):
            return _harmless(block)
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            return {**block, "text": _harmless(block["text"])}
        return block


@lru_cache(maxsize=REMEMBERED)
def _harmless(text: str) -> str:
    """Fence a text of others; a conversation sends the same ones in every turn."""
    return fenced(neutral(text))


def _foreign(message: AnyMessage) -> bool:
    if (message.id or "").startswith(SUMMARY_ID):  # a model wrote it, over results of others as well
        return True
    return isinstance(message, ToolMessage) and OURS.items() - message.additional_kwargs.items() != set()
