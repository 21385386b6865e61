"""What an MCP server sends: counted, watched for its end, and without notifications that nothing reads.

A server may send as many notifications before its answer as it likes, and each costs more to read than to
write. So what it sends for one call is bounded, and whoever sends more is ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp.types import LATEST_PROTOCOL_VERSION, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from planwright.extras.mcp.answers import as_answer
from planwright.security.reply_size import MOST_BYTES

MOST_MESSAGES = 10_000
MOST_RECEIVED = 10 * MOST_BYTES
TOO_MUCH = (
    f"sent more than {MOST_MESSAGES:,} messages or {MOST_RECEIVED / 1e6:g} MB for one call, and was ended"
)
TOOLS_CHANGED = "notifications/tools/list_changed"
_READ = (TOOLS_CHANGED, "notifications/subscriptions/acknowledged", "notifications/cancelled")
Message = SessionMessage | Exception
"""A message of a server, or why a part of its stream is none."""


class Budget:
    """What a server may send for one call: lines or events of any kind, and their bytes.

    Nothing says which call a message belongs to. So all are counted since a call last began or ended, and
    each call that is open adds to what may come.
    """

    def __init__(self) -> None:
        self.spent = False
        """Whether the server has sent more than it may; then nothing more of it is read."""
        self._open = self._messages = self._bytes = 0

    def begin(self) -> None:
        """A call begins."""
        self._count(1)

    def end(self) -> None:
        """A call has ended."""
        self._count(-1)

    def take(self, size: int, messages: int = 1) -> bool:
        """Count what has come. Returns whether it may be read."""
        self._messages += messages
        self._bytes += size
        calls = max(self._open, 1)
        if self._messages > calls * MOST_MESSAGES or self._bytes > calls * MOST_RECEIVED:
            self.spent = True
        return not self.spent

    def _count(self, calls: int) -> None:
        self._open += calls
        self._messages = self._bytes = 0


class _Messages(Protocol):
    """A stream of messages, as a transport of the SDK has it."""

    async def receive(self) -> Message: ...

    async def aclose(self) -> None: ...


class _Out(Protocol):
    """A stream of what is sent, as a transport of the SDK has it."""

    async def send(self, item: SessionMessage, /) -> None: ...

    async def aclose(self) -> None: ...


class _Sent(ObjectSendStream[SessionMessage]):
    """A stream of what is sent, which knows the tools' calls among it until they are answered."""

    def __init__(self, out: _Out) -> None:
        self.calls = set[int | str]()
        self._out = out

    async def send(self, item: SessionMessage) -> None:
        """Send a message."""
        if isinstance(item.message, JSONRPCRequest) and item.message.method == "tools/call":
            self.calls.add(item.message.id)
        await self._out.send(item)

    async def aclose(self) -> None:
        """Close the stream of the transport."""
        await self._out.aclose()


class _Watched(ObjectReceiveStream[Message]):
    """A stream of messages that tells when it has ended, and when the list of tools has changed."""

    def __init__(
        self,
        messages: _Messages,
        sent: _Sent,
        budget: Budget,
        over: asyncio.Event,
        changed: Callable[[], None],
    ) -> None:
        self._sent, self._version = sent, LATEST_PROTOCOL_VERSION
        self._messages = messages
        self._budget = budget
        self._over = over
        self._changed = changed

    async def receive(self) -> Message:
        """Return the next message that something reads. Raises as the stream of the transport does."""
        while True:
            try:
                item = await self._messages.receive()
                if self._budget.spent:
                    raise anyio.EndOfStream
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                self._over.set()
                raise
            method = _notification(item)
            if method == TOOLS_CHANGED:
                self._changed()
            if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse):
                self._read(item.message)
            if not method or method in _READ:
                return item

    def _read(self, response: JSONRPCResponse) -> None:
        if response.id in self._sent.calls:
            self._sent.calls.discard(response.id)
            response.result = as_answer(response.result, self._version)
        else:
            self._version = str(response.result.get("protocolVersion", self._version))

    async def aclose(self) -> None:
        """Close the stream of the transport."""
        await self._messages.aclose()


@asynccontextmanager
async def watched(
    transport: Transport, budget: Budget, over: asyncio.Event, changed: Callable[[], None]
) -> AsyncIterator[tuple[_Watched, _Sent]]:
    """Open a transport; `over` is set when its messages end, `changed` called when tools have changed."""
    async with transport as (messages, out):
        sent = _Sent(out)
        yield _Watched(messages, sent, budget, over, changed), sent


def _notification(item: Message) -> str:
    """Name the method of a notification; "" for any other message."""
    message = item.message if isinstance(item, SessionMessage) else None
    return message.method if isinstance(message, JSONRPCNotification) else ""
