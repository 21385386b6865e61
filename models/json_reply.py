"""The one JSON object of a reply: read within limits, and repaired where a model has misspelled it."""

from __future__ import annotations

import json
from typing import Any

from planwright.graph.errors import CapabilityRejected, ModelOutputInvalid
from planwright.graph.reply_size import MOST_LISTS, opened
from planwright.sandbox.sandbox import sandbox

LONGEST_REPLY = 200_000  # characters; a reply may have 4096 tokens, of four or five each


def read_json(text: str) -> tuple[dict[str, Any], bool]:
    """Read the one JSON object of a reply; say whether it had to be repaired.

    Raises ModelOutputInvalid when there is none to be found, or it is too long, too full or too deep.
    """
    if len(text) > LONGEST_REPLY:
        raise ModelOutputInvalid(
            f"the reply has {len(text):,} characters, {LONGEST_REPLY:,} are allowed",
            "answer with fewer words",
        )
    if opened(text.encode("utf-8", "replace")) > MOST_LISTS:
        raise ModelOutputInvalid(
            f"the reply has more than {MOST_LISTS:,} lists and objects", "answer with fewer of them"
        )
    body = _unfenced(text)
    try:
        value, repaired = json.loads(body), body != text.strip()
    except json.JSONDecodeError:
        value, repaired = _repaired(body), True
    except (RecursionError, ValueError) as error:  # Python reads no int of more than 4,300 digits
        cause = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ModelOutputInvalid(f"the reply cannot be read: {cause}", "answer with plain JSON") from error
    if not isinstance(value, dict) or not value:
        raise ModelOutputInvalid(
            "the reply is not one JSON object", "answer with one JSON object and nothing else"
        )
    return value, repaired


def _unfenced(text: str) -> str:
    """Take the first block between ``` and ```, where there is one; else all of a text."""
    _, opening, after = text.partition("```")
    body, closing, _ = after.partition("```")
    return (body.removeprefix("json") if opening and closing else text).strip()


def _repaired(text: str) -> Any:
    """Repair JSON in the sandbox: what it costs depends on what is broken."""
    try:
        return sandbox().run("json_repair:loads", text)
    except CapabilityRejected as error:
        raise ModelOutputInvalid(
            f"the reply is no JSON, and cannot be repaired: {error.cause}", "answer with plain JSON"
        ) from error
