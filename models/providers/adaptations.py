"""What is done about what servers refuse: parameters are left out or renamed, messages spelled anew."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import httpx

from planwright.models.providers.adapted_messages import (
    as_system,
    in_messages,
    one_system,
    short_ids,
    texts_only,
    word_between,
)
from planwright.models.providers.sent_back import Json, own_fields, without_own_field

FEWEST_TOKENS = 256  # of a reply: with fewer left, the conversation is too long
_TOKENS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_MOST_TOKENS = re.compile(
    r"at most (\d+) completion tokens|tokens`? must be less than or equal to `?(\d+)"
    r"|range of max_tokens is \[1, ?(\d+)\]",
    re.IGNORECASE,
)
_CONTEXT = re.compile(r"maximum context length is (\d+)", re.IGNORECASE)
_SENT = re.compile(
    r"\b(\d{1,9}) (?:input tokens|in the messages|of text input|in your prompt)", re.IGNORECASE
)
_WANTED = re.compile("must be passed back|missing|required|expected", re.IGNORECASE)


@dataclass(frozen=True)
class Adaptation:
    """What is done about one parameter that a server refuses."""

    name: str
    """What is refused, as it is told."""
    instead: str
    """What is sent instead, as it is told."""
    message: re.Pattern[str]
    """Finds it in what the server says."""
    apply: Callable[[Json], Json]
    """Makes the request without it; returns what is equal where there was none."""
    lasts: bool = True
    """Whether it holds for later requests, too."""


def fewer_tokens(refusal: str) -> list[Adaptation]:
    """Read how many tokens a reply may have, where a server says that it was asked for too many."""
    if match := _MOST_TOKENS.search(refusal):
        return [_with_most(int(next(filter(None, match.groups()))), lasts=True)]
    context, sent = _CONTEXT.search(refusal), _SENT.search(refusal)
    if context is None or sent is None:
        return []
    left = int(context[1]) - int(sent[1])  # of this request: the next one has another length
    return [_with_most(left, lasts=False)] if left >= FEWEST_TOKENS else []


@cache
def _with_most(most: int, *, lasts: bool) -> Adaptation:
    def apply(body: Json) -> Json:
        limits = {name: held for name in _TOKENS if isinstance(held := body.get(name), int)}
        return {**body, **{name: min(held, most) for name, held in limits.items()}}

    return Adaptation("so many tokens", f"{most:,} at most", _MOST_TOKENS, apply, lasts)


def refused_fields(request: httpx.Request, refusal: str) -> list[Adaptation]:
    """List the fields of messages that were kept for the server, and that it names in its refusal."""
    if _WANTED.search(refusal):
        return []
    try:
        messages = json.loads(request.content)["messages"]
    except (ValueError, LookupError, TypeError):
        return []
    return [_without_field(name) for name in sorted(own_fields(messages)) if _names(name, refusal)]


def _names(field: str, refusal: str) -> bool:
    return re.search(rf"""[.'"`\[]{re.escape(field)}(?![\w-])""", refusal) is not None


@cache
def _without_field(name: str) -> Adaptation:
    return Adaptation(
        f"{name} in messages",
        "nothing of it",
        _pattern(re.escape(name)),
        in_messages(without_own_field(name)),
    )


def _without(name: str) -> Callable[[Json], Json]:
    return lambda body: {key: value for key, value in body.items() if key != name}


def _renamed(old: str, new: str) -> Callable[[Json], Json]:
    return lambda body: {new if key == old else key: value for key, value in body.items()}


def _effort(old: str, new: str) -> Callable[[Json], Json]:
    """Ask for another effort, by either API."""

    def apply(body: Json) -> Json:
        reasoning = body.get("reasoning")
        if isinstance(reasoning, dict) and reasoning.get("effort") == old:
            return {**body, "reasoning": {**reasoning, "effort": new}}
        return {**body, "reasoning_effort": new} if body.get("reasoning_effort") == old else body

    return apply


def _without_effort(body: Json) -> Json:
    """Say nothing of the effort, by either API."""
    rest = {name: value for name, value in body.items() if name != "reasoning_effort"}
    if isinstance(reasoning := body.get("reasoning"), dict):
        rest["reasoning"] = {name: value for name, value in reasoning.items() if name != "effort"}
    return rest


def _without_choice(body: Json) -> Json:
    """Leave the choice of a tool to the model; where one was named, that is asked for in another way."""
    return _without("tool_choice")(body) if body.get("tool_choice") == "auto" else body


def _in_schemas(change: Callable[[Json], Json]) -> Callable[[Json], Json]:
    """Change the schemas of tools and answers, at every depth."""

    def deep(value: object) -> object:
        if isinstance(value, dict):
            return change({key: deep(inner) for key, inner in value.items()})
        return [deep(inner) for inner in value] if isinstance(value, list) else value

    return lambda body: {
        key: deep(value) if key in ("tools", "response_format") else value for key, value in body.items()
    }


def _one_branch(schema: Json) -> Json:
    """Take the first branch that is not null in the place of `anyOf`."""
    branches = schema.get("anyOf")
    if not isinstance(branches, list):
        return schema
    first: Json = next((branch for branch in branches if branch != {"type": "null"}), {})
    return {**{key: value for key, value in schema.items() if key != "anyOf"}, **first}


def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_EFFORT = "reasoning.?effort"
ADAPTATIONS = (
    Adaptation(
        "max_completion_tokens",
        "max_tokens",
        _pattern(r"(?<!use ')max_completion_tokens"),
        _renamed("max_completion_tokens", "max_tokens"),
    ),
    Adaptation(
        "max_tokens",
        "max_completion_tokens",
        _pattern(r"\bmax_tokens"),
        _renamed("max_tokens", "max_completion_tokens"),
    ),
    Adaptation(
        "stream_options", "no usage in streams", _pattern("stream_options"), _without("stream_options")
    ),
    Adaptation(
        "parallel_tool_calls",
        "nothing of it",
        _pattern("parallel_tool_calls"),
        _without("parallel_tool_calls"),
    ),
    Adaptation("temperature", "none", _pattern("temperature"), _without("temperature")),
    Adaptation("the effort none", "minimal", _pattern(_EFFORT), _effort("none", "minimal")),
    Adaptation("the effort minimal", "low", _pattern(_EFFORT), _effort("minimal", "low")),
    Adaptation("reasoning_effort", "nothing of it", _pattern(_EFFORT), _without_effort),
    Adaptation("encrypted items", "nothing of them", _pattern("encrypted.content"), _without("include")),
    Adaptation(
        "chat_template_kwargs",
        "nothing of it",
        _pattern("chat_template_kwargs"),
        _without("chat_template_kwargs"),
    ),
    Adaptation("tool_choice", "none", _pattern("tool_choice"), _without_choice),
    Adaptation(
        "additionalProperties",
        "schemas without it",
        _pattern("additional_?properties"),
        _in_schemas(lambda schema: {k: v for k, v in schema.items() if k != "additionalProperties"}),
    ),
    Adaptation("anyOf", "the first branch of each", _pattern("any_?of"), _in_schemas(_one_branch)),
    Adaptation("the role developer", "system messages", _pattern("developer"), in_messages(as_system)),
    Adaptation("several system messages", "one", _pattern("system messages?"), in_messages(one_system)),
    Adaptation(
        "ids of calls",
        "ids of nine letters and digits",
        _pattern("tool call id.*length"),
        in_messages(short_ids),
    ),
    Adaptation(
        "a user after a result",
        "a word between",
        _pattern("role '?user'? after role '?tool"),
        in_messages(word_between),
    ),
    Adaptation(
        "messages without content", 'them with ""', _pattern(r"(?<!\w)content(?!\w)"), in_messages(texts_only)
    ),
)
