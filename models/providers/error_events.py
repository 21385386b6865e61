"""JSON in answer to a request for a stream, passed on as the one event of a stream.

Gateways that report an error with status 200 do so as JSON, whatever was asked for. The OpenAI SDK looks for
events in it, finds none, and what it says is lost: a conversation that is too long looks like an outage.
"""

from __future__ import annotations

import httpx

from planwright.models.bounded import Bounded


class ErrorEvents(Bounded):
    """Send over HTTP, and spell JSON that came instead of a stream as an event of one (WHATWG HTML §9.2)."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request. Raises httpx.TransportError and what Bounded raises."""
        response = await super().handle_async_request(request)
        kind = response.headers.get("content-type", "")
        if not (response.is_success and kind.startswith("application/json") and _asks_for_a_stream(request)):
            return response
        try:
            lines = (await response.aread()).splitlines()
        finally:
            await response.aclose()
        events = b"".join(b"data: " + line + b"\n" for line in lines) + b"\n"
        return httpx.Response(response.status_code, content=events)


def _asks_for_a_stream(request: httpx.Request) -> bool:
    return b'"stream":true' in request.content.replace(b" ", b"")
