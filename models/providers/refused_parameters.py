"""Requests that a server refuses for one parameter: sent once more without it, and so from then on."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass

import httpx

from planwright.models.providers.common_form import Json
from planwright.models.providers.common_wire import CommonWire

_LOG = logging.getLogger("planwright.models")
REFUSED = (400, 422)


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


class AdaptedRequests(CommonWire):
    """Send over HTTP without what this server has refused before."""

    def __init__(self, provider: str, proxy: str | None = None) -> None:
        super().__init__(provider, proxy)
        self._remembered: list[Adaptation] = []

    @property
    def refused(self) -> tuple[str, ...]:
        """Names of what the server has refused and is sent no more."""
        return tuple(adaptation.name for adaptation in self._remembered)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, again for each parameter that is refused. Raises what CommonWire raises."""
        request = _adapted(request, self._remembered) or request
        response = await super().handle_async_request(request)
        tried: list[Adaptation] = []
        while response.status_code in REFUSED:
            adaptation, adapted = _remedy(request, await _read(response), tried)
            if adaptation is None:
                return response
            tried.append(adaptation)
            request = adapted
            response = await super().handle_async_request(request)
        if response.is_success:
            self._remember(tried)
        return response

    def _remember(self, tried: list[Adaptation]) -> None:
        for adaptation in tried:
            if adaptation not in self._remembered:
                self._remembered.append(adaptation)
                names = (self._provider, adaptation.name, adaptation.instead)
                _LOG.warning("provider %s refuses %s: it is sent %s", *names)


async def _read(response: httpx.Response) -> str:
    try:
        return (await response.aread()).decode("utf-8", "replace")
    finally:
        await response.aclose()


def _remedy(
    request: httpx.Request, refusal: str, tried: list[Adaptation]
) -> tuple[Adaptation | None, httpx.Request]:
    """Find what meets a refusal and was not tried yet; return it with the request that it makes."""
    untried = (each for each in ADAPTATIONS if each not in tried and each.message.search(refusal))
    for adaptation in untried:
        if adapted := _adapted(request, [adaptation]):
            return adaptation, adapted
    return None, request


def _adapted(request: httpx.Request, adaptations: list[Adaptation]) -> httpx.Request | None:
    """Make a request anew; None where nothing of it changes."""
    if not adaptations:
        return None
    try:
        body = json.loads(request.content)
    except ValueError:
        return None
    changed = body
    for adaptation in adaptations:
        changed = adaptation.apply(changed)
    if changed == body:
        return None
    headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"content-length"]
    content = json.dumps(changed, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return httpx.Request(
        request.method, request.url, headers=headers, content=content, extensions=request.extensions
    )


def _without(name: str) -> Callable[[Json], Json]:
    return lambda body: {key: value for key, value in body.items() if key != name}


def _renamed(old: str, new: str) -> Callable[[Json], Json]:
    return lambda body: {new if key == old else key: value for key, value in body.items()}


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


def _messages(change: Callable[[list[Json]], list[Json]]) -> Callable[[Json], Json]:
    def apply(body: Json) -> Json:
        messages = body.get("messages")
        return {**body, "messages": change(messages)} if isinstance(messages, list) else body

    return apply


def _one_system(messages: list[Json]) -> list[Json]:
    """Join all instructions in one message at the beginning."""
    texts = [str(m.get("content") or "") for m in messages if m.get("role") == "system"]
    others = [message for message in messages if message.get("role") != "system"]
    return [{"role": "system", "content": "\n\n".join(texts)}, *others] if len(texts) > 1 else messages


def _texts_only(messages: list[Json]) -> list[Json]:
    return [m if m.get("content", "") is not None else {**m, "content": ""} for m in messages]


def _as_system(messages: list[Json]) -> list[Json]:
    return [{**m, "role": "system"} if m.get("role") == "developer" else m for m in messages]


def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


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
    Adaptation("tool_choice", "none", _pattern("tool_choice"), _without_choice),
    Adaptation(
        "additionalProperties",
        "schemas without it",
        _pattern("additional_?properties"),
        _in_schemas(lambda schema: {k: v for k, v in schema.items() if k != "additionalProperties"}),
    ),
    Adaptation("anyOf", "the first branch of each", _pattern("any_?of"), _in_schemas(_one_branch)),
    Adaptation("the role developer", "system messages", _pattern("developer"), _messages(_as_system)),
    Adaptation("several system messages", "one", _pattern("system messages?"), _messages(_one_system)),
    Adaptation("messages without content", 'them with ""', _pattern("content"), _messages(_texts_only)),
)
