"""The one JSON value of a reply: read within limits, also where a model has written it in its own way."""

from __future__ import annotations

import re
from typing import Any

from planwright.domain.errors import CapabilityRejected, ModelOutputInvalid
from planwright.domain.hashing import canonical_json
from planwright.models.replies.plan_wrappers import strict_json
from planwright.sandbox.sandbox import sandbox
from planwright.security.reply_size import MOST_LISTS, count_lists

LONGEST_REPLY = 200_000  # characters; a reply may have 4096 tokens, of four or five each
_THOUGHT = re.compile(r"\A\s*<(think|thinking)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_ONE_OBJECT = "answer with one JSON object and nothing else"


def read_json(text: str) -> tuple[dict[str, Any], bool]:
    """Read the one JSON object of a reply; say whether it was written otherwise than as plain JSON.

    Raises ModelOutputInvalid when there is none, or more than one, when it breaks off, or is too long,
    too full or too deep.
    """
    value, repaired = read_value(text)
    if not isinstance(value, dict):
        raise ModelOutputInvalid("the reply is not one JSON object", _ONE_OBJECT)
    return value, repaired


def read_value(text: str) -> tuple[dict[str, Any] | list[Any], bool]:
    """Read the one JSON object, or list of objects, of a reply. Raises as `read_json` does."""
    if len(text) > LONGEST_REPLY:
        raise ModelOutputInvalid(
            f"the reply has {len(text):,} characters, {LONGEST_REPLY:,} are allowed",
            "answer with fewer words",
        )
    if count_lists(text.encode("utf-8", "replace")) > MOST_LISTS:
        raise ModelOutputInvalid(
            f"the reply has more than {MOST_LISTS:,} lists and objects", "answer with fewer of them"
        )
    body = _THOUGHT.sub("", text, count=1)
    try:
        value, repaired = strict_json(body), body != text
    except RecursionError as error:
        cause = "the reply cannot be read: it is nested too deeply"
        raise ModelOutputInvalid(cause, "answer with plain JSON") from error
    except ValueError:  # also where Python reads no int of more than 4,300 digits
        value, repaired = _only(_json_values(body)), True
    rows = isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value)
    if not (rows or (isinstance(value, dict) and value)):
        raise ModelOutputInvalid("the reply is not one JSON object", _ONE_OBJECT)
    return value, repaired


def _only(values: list[Any]) -> Any:
    """Take the one value of a reply, which may stand there more than once."""
    different = {canonical_json(value): value for value in values}
    if len(different) > 1:
        raise ModelOutputInvalid(f"the reply holds {len(different)} JSON values", _ONE_OBJECT)
    return next(iter(different.values()), None)


def _json_values(text: str) -> list[Any]:
    """Read in the sandbox what is no plain JSON: what that costs depends on what is written."""
    try:
        values: list[Any] = sandbox().run("planwright.models.lenient_json:objects", text)
    except CapabilityRejected as error:
        raise ModelOutputInvalid(
            f"the reply is no JSON, and cannot be repaired: {error.cause}", "answer with plain JSON"
        ) from error
    return values
