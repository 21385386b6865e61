"""Shorten a result to what a model is shown, so that it stays what it was: JSON, or whole words."""

from __future__ import annotations

from collections.abc import Iterable

from langchain_core.messages import AnyMessage, ToolMessage
from pydantic import JsonValue

from planwright.domain.hashing import json_text
from planwright.domain.plan import WHOLE

REFERENCE_NOTE = "results__read ref="


def shorten(value: JsonValue, limit: int, ref: str = "") -> str:
    """Spell a value in at most `limit` characters, and a note of what is missing.

    A list keeps the largest prefix that fits (binary search), an object the fields that fit, a
    text is cut between two words. The whole value is in the blob store, where `ref` names it.
    """
    whole = value if isinstance(value, str) else json_text(value)
    if len(whole) <= limit:
        return whole
    if ref and isinstance(value, dict):
        return json_text({**_fields(value, limit), "...whole": f"{REFERENCE_NOTE}{ref}"})
    return f"{_shortened(value, whole, limit)}{f' [whole: {REFERENCE_NOTE}{ref}]' if ref else ''}"


def offered_whole(conversation: Iterable[AnyMessage]) -> tuple[str, ...]:
    """Name the tool that reads whole results, once a model was shown a shortened one."""
    referred = any(
        isinstance(message, ToolMessage) and REFERENCE_NOTE in message.text for message in conversation
    )
    return (WHOLE,) if referred else ()


def _shortened(value: JsonValue, whole: str, limit: int) -> str:
    if isinstance(value, list):
        return _prefix(value, limit)
    if isinstance(value, dict):
        return json_text(_fields(value, limit))
    if isinstance(value, str):
        return f"{_words(value, limit)} [...truncated, showing {limit}/{len(value)} characters]"
    return whole


def _prefix(items: list[JsonValue], limit: int) -> str:
    low, high = 0, len(items)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(json_text(items[:middle])) <= limit else (low, middle - 1)
    return f"{json_text(items[:low])} [...truncated, showing {low}/{len(items)} items]"


def _fields(value: dict[str, JsonValue], limit: int) -> dict[str, JsonValue]:
    """Keep the fields in their order; the first that does not fit is shortened, the rest are named."""
    retained: dict[str, JsonValue] = {}
    left = limit
    for name, field in value.items():
        size = len(json_text({name: field}))
        if size <= left:
            retained[name] = field
        elif left > 200 and name != "base64":  # a part of an image or a file says nothing
            retained[name] = shorten(field, left - 150 - len(name))
            size = left
        else:
            retained["..."] = f"truncated, showing {len(retained)}/{len(value)} fields"
            break
        left -= size
    return retained


def _words(text: str, limit: int) -> str:
    cut = text[:limit]
    at = max(cut.rfind(" "), cut.rfind("\n"))
    return cut[:at] if at > limit // 2 else cut
