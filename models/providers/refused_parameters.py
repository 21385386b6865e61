"""Requests that a server refuses for one parameter: sent once more without it, and so from then on."""

from __future__ import annotations

import json
import logging

import httpx

from planwright.models.providers.adaptations import (
    ADAPTATIONS,
    Adaptation,
    fewer_tokens,
    refused_fields,
)
from planwright.models.providers.common_wire import CommonWire

_LOG = logging.getLogger("planwright.models")
REFUSED = (400, 422)


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
            if adaptation.lasts and adaptation not in self._remembered:
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
    remedies = [*fewer_tokens(refusal), *refused_fields(request, refusal)]
    remedies += [each for each in ADAPTATIONS if each.message.search(refusal)]
    for adaptation in (each for each in remedies if each not in tried):
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
