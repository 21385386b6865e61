"""An OpenAI-compatible server that fails in every way a provider can, over raw sockets.

The `model` of a request says what to play: `fault` or `fault@turn` (the fault strikes when so many
replies stand in the conversation, else the answer is good). `POST /down/<provider>/<fault>` takes one
provider down until `POST /down/-/-`. The provider is the first part of the path.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from email.utils import formatdate
from time import time
from typing import Any

HANG_S = 20
FIRST = "One moment: "


@dataclass(frozen=True)
class Asked:
    """One request, as far as a fault needs to know it."""

    writer: asyncio.StreamWriter
    number: str
    streams: bool


Fault = Callable[[Asked], Awaitable[None]]


def status(code: int, says: str = "no", **headers: str) -> Fault:
    """Answer with a status and OpenAI's error body."""
    error = {"error": {"message": says, "type": "error", "code": None}}

    async def play(asked: Asked) -> None:
        await send(asked.writer, code, json.dumps(error).encode(), **headers)

    return play


def body(content: bytes, kind: str = "application/json", code: int = 200) -> Fault:
    """Answer 200 with something that is no completion."""

    async def play(asked: Asked) -> None:
        await send(asked.writer, code, content, content_type=kind)

    return play


def events(*chunks: bytes, then: str = "", pace_s: float = 0) -> Fault:
    """Stream some chunks; then end as said: `reset`, `close` (too early), `hang`, or well."""

    async def play(asked: Asked) -> None:
        asked.writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n")
        asked.writer.write(b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
        for chunk in chunks:
            asked.writer.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
            await asked.writer.drain()
            await asyncio.sleep(pace_s)
        if then == "hang":
            await asyncio.sleep(HANG_S)
        if then == "reset":
            _reset(asked.writer)
        if not then:
            asked.writer.write(b"0\r\n\r\n")

    return play


def answer(number: str) -> dict[str, Any]:
    """Make the good answer to a request: one call, which names the request."""
    function = {"name": "note", "arguments": json.dumps({"number": number})}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    message = {"role": "assistant", "content": FIRST, "tool_calls": [call]}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    head = {"id": f"c{number}", "object": "chat.completion", "created": 1, "model": "m"}
    return {**head, "choices": [choice], "usage": usage}


def chunks(number: str) -> Iterator[bytes]:
    """Spell the good answer as a stream: the first words, the call, the end, the usage."""
    whole = answer(number)
    head = {"id": whole["id"], "object": "chat.completion.chunk", "created": 1, "model": "m"}
    message = whole["choices"][0]["message"]
    deltas = ({"role": "assistant", "content": ""}, {"content": FIRST})
    call = {"tool_calls": [{"index": 0, **message["tool_calls"][0]}]}
    for delta in (*deltas, call):
        yield event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    yield event({**head, "choices": [], "usage": whole["usage"]}) + b"data: [DONE]\n\n"


def event(content: object) -> bytes:
    """Spell one server-sent event."""
    return b"data: " + json.dumps(content).encode() + b"\n\n"


async def good(asked: Asked) -> None:
    """Answer as one should."""
    if asked.streams:
        await events(*chunks(asked.number))(asked)
    else:
        await send(asked.writer, 200, json.dumps(answer(asked.number)).encode())


async def hang(asked: Asked) -> None:
    """Take the request and say nothing, on an open socket."""
    await asyncio.sleep(HANG_S)


async def reset(asked: Asked) -> None:
    """Take the request and reset the connection."""
    _reset(asked.writer)


async def close(asked: Asked) -> None:
    """Take the request and close the connection."""


async def half_closed(asked: Asked) -> None:
    """Close our half of the connection, and keep the other open."""
    asked.writer.write_eof()
    await asyncio.sleep(0.5)


async def truncated(asked: Asked) -> None:
    """Promise a whole body and send half of it."""
    content = json.dumps(answer(asked.number)).encode()
    asked.writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(content)}\r\n\r\n".encode())
    asked.writer.write(content[: len(content) // 2])


async def drips(asked: Asked) -> None:
    """Send a good answer so slowly that nobody waits for its end."""
    content = json.dumps(answer(asked.number)).encode()
    asked.writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(content)}\r\n\r\n".encode())
    for at in range(len(content)):
        asked.writer.write(content[at : at + 1])
        await asked.writer.drain()
        await asyncio.sleep(0.05)


async def doubled(asked: Asked) -> None:
    """Stream an answer whose call and end come twice."""
    first, words, call, end, usage = chunks(asked.number)
    await events(first, words, call, end, end, usage)(asked)


def _stream(*parts: int, then: str = "", error: dict[str, Any] | None = None, pace_s: float = 0) -> Fault:
    async def play(asked: Asked) -> None:
        whole = list(chunks(asked.number))
        sent = [whole[part] for part in parts] + ([event({"error": error})] if error else [])
        await events(*sent, then=then, pace_s=pace_s)(asked)

    return play


OVERLOADED = {"message": "overloaded", "type": "server_error", "code": 529}
LIMITED = {"message": "Rate limit reached", "type": "tokens", "code": "rate_limit_exceeded"}
FAULTS: dict[str, Fault] = {
    "400": status(400, "unsupported parameter"),
    "401": status(401, "bad key"),
    "402": status(402, "pay first"),
    "403": status(403, "not yours"),
    "404": status(404, "no such model"),
    "408": status(408),
    "409": status(409),
    "413": status(413, "too large"),
    "422": status(422, "unprocessable"),
    "425": status(425),
    "429": status(429, "slow down"),
    "429 seconds": status(429, "slow down", retry_after="1"),
    "429 date": status(429, "slow down", retry_after=formatdate(time() + 1, usegmt=True)),
    "429 milliseconds": status(429, "slow down", retry_after_ms="20"),
    "429 huge": status(429, "slow down", retry_after="1e12"),
    "429 negative": status(429, "slow down", retry_after="-5"),
    "429 words": status(429, "slow down", retry_after="soon"),
    "429 spent": status(429, "You exceeded your current quota"),
    "500": status(500),
    "501": status(501),
    "502": body(b"<html>Bad gateway</html>", "text/html", 502),
    "503": status(503),
    "504": status(504),
    "529": status(529, "overloaded"),
    "418": status(418, "a teapot"),
    "rate limit in words": status(400, "Rate limit reached for requests"),
    "overload in words": status(400, "The model is overloaded"),
    "overflow in words": status(400, "This model's maximum context length is 8192 tokens"),
    "prompt too long": status(400, "prompt is too long: 210000 tokens > 200000 maximum"),
    "hang": hang,
    "reset": reset,
    "close": close,
    "half closed": half_closed,
    "truncated": truncated,
    "drips": drips,
    "garbage": body(b"\x00\xff<html>"),
    "empty": body(b""),
    "no json": body(b"It works!", "text/plain"),
    "wrong type": body(b'{"hello": "world"}', "text/html"),
    "no choices": body(b'{"id": "c", "object": "chat.completion", "choices": []}'),
    "null choices": body(b'{"id": "c", "object": "chat.completion", "choices": null}'),
    "list": body(b"[]"),
    "error in a 200": body(json.dumps({"error": OVERLOADED}).encode()),
    "redirect": status(302, "moved", location="http://127.0.0.1:9/v1"),
    "stream error first": _stream(0, error=OVERLOADED, then="close"),
    "stream limit first": _stream(0, error=LIMITED, then="close"),
    "stream ends first": _stream(0),
    "stream resets first": _stream(0, then="reset"),
    "stream hangs first": _stream(0, then="hang"),
    "stream garbage": events(b"data: {not json\n\n"),
    "stream error later": _stream(0, 1, error=OVERLOADED, then="close"),
    "stream ends later": _stream(0, 1),
    "stream resets later": _stream(0, 1, then="reset"),
    "stream hangs later": _stream(0, 1, then="hang"),
    "stream doubled": doubled,
    "stream drips": _stream(0, 1, 2, 3, 4, pace_s=0.05),
    "ok": good,
}


async def send(writer: asyncio.StreamWriter, code: int, content: bytes, **headers: str) -> None:
    """Send one whole response."""
    named = {"content_type": "application/json", **headers, "content_length": str(len(content))}
    lines = [f"{name.replace('_', '-')}: {value}\r\n" for name, value in named.items()]
    writer.write(f"HTTP/1.1 {code} X\r\n{''.join(lines)}\r\n".encode() + content)
    await writer.drain()


def _reset(writer: asyncio.StreamWriter) -> None:
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class FaultServer:
    """Serve all providers on one port, and count what each was sent."""

    def __init__(self) -> None:
        self._down = ("-", "-")
        self._sent = {"a": 0, "b": 0, "c": 0}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection, until a fault ends it."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                if not await self._answer(path, await reader.readexactly(_length(head)), writer):
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, path: str, content: bytes, writer: asyncio.StreamWriter) -> bool:
        """Play what a request is to get; say whether the connection goes on."""
        first, *rest = path.strip("/").split("/")
        if first == "down":
            self._down = (rest[0], rest[1].replace("%20", " "))
            await send(writer, 200, json.dumps(self._sent).encode())
            return True
        self._sent[first] += 1
        request = json.loads(content)
        fault, _, turn = request["model"].partition("@")
        said = sum(message["role"] == "assistant" for message in request["messages"])
        if turn and said != int(turn):
            fault = "ok"
        if self._down[0] == first:
            fault = self._down[1]
        number = str(request["messages"][-1]["content"]).rpartition(" ")[2]
        play = FAULTS[fault]
        await play(Asked(writer, number, bool(request.get("stream"))))
        return play is good and not request.get("stream")


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    return 0


async def _run() -> None:
    server = await asyncio.start_server(FaultServer().serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)  # whoever started us ends us by closing our input
    os._exit(0)  # there are connections that hang on purpose


if __name__ == "__main__":
    asyncio.run(_run())
