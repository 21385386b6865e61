"""The transport of every client a call gets: what it lets through goes only where it may."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import httpcore
import httpx

from planwright.domain.errors import CapabilityForbidden
from planwright.security.egress.pinned_backend import PinnedBackend
from planwright.security.egress.target import check_target, target_of
from planwright.settings.egress import EgressSettings

_FAILURES = (
    httpcore.TimeoutException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.UnsupportedProtocol,
)


class GuardedTransport(httpx.AsyncBaseTransport):
    """Check each request, redirects among them, and send it over a connection to a checked address.

    Host header, SNI and certificate are those of the URL's host, whatever the caller would like.
    """

    def __init__(self, egress: EgressSettings, backend: PinnedBackend, ssl_context: ssl.SSLContext) -> None:
        self._egress = egress
        self._pool = httpcore.AsyncConnectionPool(ssl_context=ssl_context, network_backend=backend)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request. Raises CapabilityForbidden, CapabilityRejected or httpx.TransportError."""
        target = target_of(request.url)
        check_target(target, self._egress)
        if request.headers.get("host", "").encode() != request.url.netloc:
            raise CapabilityForbidden(f"the Host header does not say {target.place}", "leave it out")
        forwarded = httpcore.Request(
            method=request.method,
            url=httpcore.URL(
                scheme=target.scheme, host=target.host, port=target.port, target=request.url.raw_path
            ),
            headers=request.headers.raw,
            content=request.stream,
            extensions={"timeout": request.extensions.get("timeout", {})},
        )
        with _in_words_of_httpx():
            reply = await self._pool.handle_async_request(forwarded)
        return httpx.Response(
            status_code=reply.status,
            headers=reply.headers,
            stream=_Body(reply),
            extensions=reply.extensions,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, reply: httpcore.Response) -> None:
        self._reply = reply

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _in_words_of_httpx():
            async for part in self._reply.aiter_stream():
                yield part

    async def aclose(self) -> None:
        await self._reply.aclose()


@contextmanager
def _in_words_of_httpx() -> Iterator[None]:
    """Raise httpx's exception of the same name for one of httpcore's."""
    try:
        yield
    except _FAILURES as error:
        raise getattr(httpx, type(error).__name__)(str(error)) from error
