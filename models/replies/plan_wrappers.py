"""What a plan comes wrapped in: an object with one key, or the call of a tool."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from planwright.domain.hashing import canonical_json
from planwright.language.nouns import REMARKS
from planwright.models.replies.plan_keys import squeezed

_WRAPPERS = frozenset(("plan", "executionplan", "planningexecutionplan", "result", "answer", "response"))
_CALLED = frozenset(("plan", "planner", "createplan", "makeplan", "submitplan", "proposeplan", "answer"))
_ARGUMENTS = frozenset(("arguments", "args", "parameters", "params", "input"))
_CALL_NAMES = frozenset(("name", "tool", "toolname", "action"))
_CALL_MARKS = frozenset(("type", "id", "index"))
MOST_LEVELS = 200  # of lists and objects; how many the parser takes depends on the release of Python
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"')
_BRACKET = re.compile(r"[\[\]{}]")


def wrapped(value: object) -> object | None:
    """Find what a wrapper or the call of a tool holds; None for what is neither."""
    if not isinstance(value, Mapping):
        return None
    telling = [key for key in value if not _is_remark(key, value[key])]
    keys = {squeezed(str(key)): key for key in telling}
    if len(keys) < len(telling):
        return None  # two spellings of one key: each may hold a plan
    if len(keys) == 1:
        ((short, key),) = keys.items()
        return _inside(short, value[key])
    rest = keys.keys() - _CALL_MARKS
    if rest == {"function"} and isinstance(value[keys["function"]], Mapping):
        inside: object = value[keys["function"]]
        return inside
    named, arguments = rest & _CALL_NAMES, rest & _ARGUMENTS
    if len(rest) == 2 and len(named) == len(arguments) == 1:
        ((name,), (argument,)) = named, arguments
        if squeezed(str(value[keys[name]])) in _CALLED:
            inner = value[keys[argument]]
            return _parsed(inner) if isinstance(inner, str) else inner
    return None


def strict_json(text: str) -> Any:
    """Read JSON. Raises ValueError also for NaN, Infinity, and a key that says two things.

    Raises RecursionError for more than MOST_LEVELS levels.
    """
    value = json.loads(text, object_pairs_hook=once, parse_constant=_no_number)
    brackets = _BRACKET.findall(_STRING.sub("", text))
    if max(accumulate(1 if bracket in "[{" else -1 for bracket in brackets), default=0) > MOST_LEVELS:
        raise RecursionError(f"more than {MOST_LEVELS} levels")
    return value


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Read an object of JSON. Raises ValueError for a key that stands there twice and says two things."""
    read: dict[str, Any] = {}
    for key, value in pairs:
        if key in read and canonical_json(read[key]) != canonical_json(value):
            raise ValueError(f"the key {key!r} stands there twice, and says two things")
        read[key] = value
    return read


def _is_remark(key: object, value: object) -> bool:
    return squeezed(str(key)) in REMARKS and isinstance(value, str | None)


def _inside(short: str, inner: object) -> object | None:
    if short in _WRAPPERS and isinstance(inner, Mapping | list):
        return inner
    if short == "toolcalls" and isinstance(inner, list) and len(inner) == 1:
        only: object = inner[0]
        return only
    return inner if short in ("function", "functioncall", "toolcall") and isinstance(inner, Mapping) else None


def _parsed(text: str) -> object | None:
    try:
        value: object = strict_json(text)
    except ValueError:
        return None
    return value


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")
