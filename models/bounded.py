"""The reply of a provider over HTTP, within a size that is known before it is read.

A stream may be long, for it can bring one word in 300 bytes; an event of it is no larger than a whole reply.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from functools import cache

import httpx

from planwright.domain.clock import AttendedTimeout, heard
from planwright.domain.errors import ModelOutputInvalid, ModelRejected
from planwright.security.reply_size import BLANK_LINE, MOST_BYTES, MOST_LISTS, TOO_LONG, count_lists

MOST_STREAMED = 16_000_000  # bytes
MOST_EVENTS = 60_000
CONNECT_S = 15
UNLIMITED = httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=None)
"""How many calls are made at once is decided before (`failover/admission.py`). What was idle for some time
httpcore closes, one after the other, before the next call (1.0.9): with a loop that is late by as much even
under one that has been given it. So the system looks whether the other side still is there.
"""
KEPT_ALIVE = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
        if hasattr(socket, name)
    ),
]
_ESCAPED = b"\\u00"  # \u005b is a bracket, too, in a text that is JSON


@cache
def authorities() -> ssl.SSLContext:
    """Load whom a server's certificate may come from, once: 20 ms, which else each client takes."""
    return httpx.create_ssl_context()


class Bounded(httpx.AsyncHTTPTransport):
    """Send over HTTP, and read no more of a reply than may be read."""

    def __init__(self, provider: str, proxy: str | None = None) -> None:
        super().__init__(proxy=proxy, verify=authorities(), limits=UNLIMITED, socket_options=KEPT_ALIVE)
        self._provider = provider

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request. Raises httpx.TransportError, and ModelRejected for a compressed reply.

        Reading the response raises ModelOutputInvalid.
        """
        request.headers["accept-encoding"] = "identity"  # a compressed reply says nothing about its size
        response = await self._connected(request)
        heard()
        encoding = response.headers.get("content-encoding", "identity")
        if encoding.strip().lower() != "identity":
            await response.aclose()
            compressed = ModelRejected(
                f"provider {self._provider} sends its replies compressed, though it was asked not to",
                f"switch that off behind providers.{self._provider}.base_url",
            )
            compressed.worked = response.is_success
            raise compressed
        if not isinstance(response.stream, httpx.AsyncByteStream):
            raise TypeError("the transport replied with a stream that cannot be read asynchronously")
        streams = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        response.stream = _Bounded(response.stream, self._provider, streams, worked=response.is_success)
        return response

    async def _connected(self, request: httpx.Request) -> httpx.Response:
        """Send a request once somebody has taken the connection; the reply may take as long as others say.

        Nobody is silent before it has left.
        """
        limit = AttendedTimeout(CONNECT_S)

        async def trace(event: str, _: Mapping[str, object]) -> None:
            heard()
            if event.endswith("connect_tcp.started"):
                limit.go_on()
            elif event.endswith("send_request_headers.started"):
                limit.lift()

        request.extensions = {**request.extensions, "trace": trace}
        try:
            async with limit:
                limit.lift()
                return await super().handle_async_request(request)
        except TimeoutError as error:
            raise httpx.ConnectTimeout(f"no connection within {CONNECT_S} s", request=request) from error


class _Bounded(httpx.AsyncByteStream):
    """The bytes of a reply. Reading them raises ModelOutputInvalid when there are too many."""

    def __init__(self, stream: httpx.AsyncByteStream, provider: str, streams: bool, *, worked: bool) -> None:
        self._stream = stream
        self._provider = provider
        self._streams = streams
        self._worked = worked

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = events = event = lists = 0
        before = b""  # the end of the parts that came: a blank line, or what is escaped, may lie in two
        async for part in self._stream:
            heard()
            text = before + part
            ends = [blank.end() for blank in BLANK_LINE.finditer(text)] if self._streams else []
            size, events = size + len(part), events + len(ends)
            event, lists = event + len(part), lists + _opened(text) - _opened(before)
            if size > MOST_STREAMED or events > MOST_EVENTS:
                raise self._over(f"more than {MOST_STREAMED // 1_000_000} MB or {MOST_EVENTS:,} events")
            if event > MOST_BYTES:
                raise self._over(TOO_LONG)
            if lists > MOST_LISTS:
                raise self._over(f"more than {MOST_LISTS:,} lists and objects")
            rest = text[ends[-1] :] if ends else text
            if ends:
                event, lists = len(rest), _opened(rest)
            before = rest[1 - len(_ESCAPED) :]
            yield part

    async def aclose(self) -> None:
        """Close the connection, or give it back."""
        await self._stream.aclose()

    def _over(self, excess: str) -> ModelOutputInvalid:
        over = ModelOutputInvalid(
            f"the reply of provider {self._provider} has {excess}: it was not read", "answer with fewer words"
        )
        over.worked = self._worked
        return over


def _opened(text: bytes) -> int:
    """Count the lists and objects of JSON, and of JSON that is a string of it (the arguments of a call)."""
    return count_lists(text) + text.count(_ESCAPED)
