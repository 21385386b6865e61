"""What calls did whose messages are left out: a line each, with the ids, amounts and paths they brought."""

from __future__ import annotations

import re
from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from planwright.domain.hashing import json_text
from planwright.models.conversation.thread_messages import is_brought
from planwright.models.conversation.truncation import REFERENCE_NOTE

MOST_OF_ONE = 300  # characters of a result, and of arguments
MOST_NAMED = 400  # characters of what is named of the rest of a result
_WORD = re.compile(r"[\w.,@/:+-]+")
_REFERENCE = re.compile(rf"{REFERENCE_NOTE}[0-9a-f]+")


def lines_of_calls(messages: Sequence[AnyMessage]) -> list[str]:
    """Tell of the calls among messages that runs of ours wrote, the oldest first."""
    results = {m.tool_call_id: m for m in messages if isinstance(m, ToolMessage) and not is_brought(m)}
    calls = [call for m in messages if isinstance(m, AIMessage) for call in m.tool_calls]
    return [
        f"- {call['name']}({_cut(json_text(call['args']))}) → {_brought(result)}"
        for call in calls
        if (result := results.get(str(call["id"])))
    ]


def newest_lines(lines: Sequence[str], room: int) -> tuple[str, ...]:
    """Choose the newest lines that have room, in characters."""
    chosen = list[str]()
    for line in reversed(lines):
        if (room := room - len(line)) < 0:
            break
        chosen.append(line)
    return tuple(reversed(chosen))


def _brought(result: ToolMessage) -> str:
    """Spell a result; of a long one its beginning, what is named behind that, and where the whole is."""
    text = " ".join(result.text.split())
    if len(text) <= MOST_OF_ONE:
        return text
    words = (word.strip(".,:") for word in _WORD.findall(text, MOST_OF_ONE))
    rest = " ".join(dict.fromkeys(word for word in words if any(c.isdigit() or c in "/@" for c in word)))
    whole = _REFERENCE.findall(text)
    return " ".join([_cut(text), _cut(rest, MOST_NAMED), *whole[-1:]])


def _cut(text: str, most: int = MOST_OF_ONE) -> str:
    return text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0]} […]"
