"""An MCP server behind an address: every answer, and every event of a stream, within a size.

The SDK (mcp 2.3.0) limits the bytes of an event and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import httpx2
from mcp.types import INTERNAL_ERROR, PARSE_ERROR

from planwright.extras.mcp.answers import COMPRESSED, error_reply, refusal_text
from planwright.extras.mcp.incoming import TOO_MUCH, Budget
from planwright.security.reply_size import BLANK_LINE, MOST_BYTES, TOO_LONG, excess_of

REFUSALS = {
    401: "HTTP 401: it wants credentials, or others than it was given: name them in `headers` of its entry",
    403: "HTTP 403: it does not let in who is named in `headers` of its entry",
}
"""What a server says that lets nobody in: the SDK says "Server returned an error response"."""


class BoundedTransport(httpx2.AsyncHTTPTransport):
    """Send over HTTP; an answer that may not be read is replaced by an error for the same request."""

    def __init__(self, budget: Budget, *, trust_env: bool) -> None:
        super().__init__(trust_env=trust_env)
        self._budget = budget

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request. Raises httpx2.TransportError."""
        request.headers["accept-encoding"] = "identity"
        response = await super().handle_async_request(request)
        plain = response.headers.get("content-encoding", "identity").strip().lower() == "identity"
        if plain and response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            response.stream = _Events(_stream(response), request, self._budget)
            return response
        try:
            body = await _read(_stream(response)) if plain else b""
        finally:
            await response.aclose()
        excess = excess_of(body)
        refusal = REFUSALS.get(response.status_code) if request.method == "POST" else None
        if excess or refusal or not plain:
            unread = refusal_text(excess) if excess else COMPRESSED
            content = _error(request, refusal, INTERNAL_ERROR) if refusal else _error(request, unread)
            stand_in = {"content-type": "application/json"}
            return httpx2.Response(response.status_code, headers=stand_in, content=content)
        return httpx2.Response(response.status_code, headers=response.headers, content=body)


class _Events(httpx2.AsyncByteStream):
    """Events of a stream, each passed on as a whole; one that may not be read ends it with an error."""

    def __init__(self, stream: httpx2.AsyncByteStream, request: httpx2.Request, budget: Budget) -> None:
        self._stream = stream
        self._request = request
        self._budget = budget

    async def __aiter__(self) -> AsyncIterator[bytes]:
        waiting = bytearray()
        async for part in self._stream:
            if not self._budget.take(len(part), messages=0):
                yield self._error(TOO_MUCH)
                return
            looked_at = max(0, len(waiting) - 2)
            waiting += part
            whole = 0
            for blank in BLANK_LINE.finditer(waiting, looked_at):
                event = bytes(waiting[whole : blank.end()])
                excess = excess_of(event)
                refusal = refusal_text(excess) if excess else "" if self._budget.take(0) else TOO_MUCH
                if refusal:
                    yield bytes(waiting[:whole]) + self._error(refusal)
                    return
                whole = blank.end()
            yield bytes(waiting[:whole])
            del waiting[:whole]
            if len(waiting) > MOST_BYTES:
                yield self._error(refusal_text(TOO_LONG))
                return
        yield bytes(waiting)

    async def aclose(self) -> None:
        """Close the connection, or give it back."""
        await self._stream.aclose()

    def _error(self, why: str) -> bytes:
        return b"data: " + _error(self._request, why) + b"\n\n"


async def _read(stream: httpx2.AsyncByteStream) -> bytes:
    """Read a body, or a little more of it than is allowed."""
    body = bytearray()
    async for part in stream:
        body += part
        if len(body) > MOST_BYTES:
            break
    return bytes(body)


def _stream(response: httpx2.Response) -> httpx2.AsyncByteStream:
    if not isinstance(response.stream, httpx2.AsyncByteStream):
        raise TypeError("an async transport answers with an async stream")
    return response.stream


def _error(request: httpx2.Request, why: str, code: int = PARSE_ERROR) -> bytes:
    message = json.loads(request.content or b"{}")
    return error_reply(message.get("id"), why, code).model_dump_json().encode()
