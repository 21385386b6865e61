"""A provider that streams what a test lets it say, when the test lets it, on the test's own event loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
Send = Callable[[str], Awaitable[None]]
Speech = Callable[[Send], Awaitable[None]]
"""Says one reply by what it is given to send with."""


def word(text: str) -> str:
    """Spell a piece of a reply as an event."""
    return _event({"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None})


def end() -> str:
    """Spell the end of a reply, with its usage."""
    usage = {"prompt_tokens": 1000, "completion_tokens": 200, "total_tokens": 1200}
    last = _event({"index": 0, "delta": {}, "finish_reason": "stop"})
    return f"{last}{_event(usage=usage)}data: [DONE]\n\n"


def _event(*choices: dict[str, Any], **more: Any) -> str:
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return f"data: {json.dumps({**head, 'choices': choices, **more})}\n\n"


@dataclass
class HeldProvider:
    """What was asked of it, and where it listens."""

    url: str = ""
    """Address that a provider's settings name."""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    """Requests so far."""
    at_once: int = 0
    """Requests that it is at work on."""
    most_at_once: int = 0
    """Most requests that it was at work on at once."""


@asynccontextmanager
async def held_provider(*speeches: Speech) -> AsyncIterator[HeldProvider]:
    """Answer each request by the next speech; the last one is repeated."""
    provider = HeldProvider()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line[15:]) for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:"
        )
        provider.bodies.append(json.loads(await reader.readexactly(length)))
        provider.at_once += 1
        provider.most_at_once = max(provider.most_at_once, provider.at_once)

        async def send(text: str) -> None:
            writer.write(text.encode())
            await writer.drain()

        try:
            speech = speeches[min(len(provider.bodies), len(speeches)) - 1]
            if provider.bodies[-1].get("stream"):
                writer.write(HEAD)
            await speech(send)
        except ConnectionError:
            pass  # the client has given up
        finally:
            provider.at_once -= 1
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        provider.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        yield provider
