"""What stands around the guard in `benchmarks/ssrf.py`: DNS that lies, a web server, and a catcher.

No packet leaves the machine: a connector takes the connections that the guard makes to public
addresses to the web server on the loopback, and any other to the catcher, which nothing may reach.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpcore
import trustme

PUBLIC = frozenset(
    "93.184.216.34 8.8.8.8 1.1.1.1 151.101.1.69 2606:4700:4700::1111 2001:4860:4860::8888"
    " 2a00:1450:4001::1".split()
)
DOWN = "9.9.9.9"  # a public address where nobody answers
Handle = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
TLS_PORTS = (443, 8443)


@dataclass
class Dns:
    """Answers a name from its script, call by call, the last answer again and again; others publicly."""

    script: dict[str, list[list[str]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """Give the next answer. Raises OSError for an empty one, as a resolver does."""
        await asyncio.sleep(0)
        turn = self.asked.count(host)
        self.asked.append(host)
        answers = self.script.get(host, [["93.184.216.34"]])
        answer = answers[min(turn, len(answers) - 1)]
        if not answer:
            raise OSError(-2, "Name or service not known")
        return answer


@dataclass
class World:
    """The servers of one event loop, and the ports they listen on."""

    web: int
    tls: int
    catcher: int
    client_context: ssl.SSLContext
    caught: list[bytes] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)

    def connector(self, private: Iterable[str] = ()) -> Connector:
        """Make a connector that takes public addresses, and those in `private`, to the web server."""
        return Connector(self, frozenset(private))


class Connector(httpcore.AnyIOBackend):
    """Keeps every address that somebody wanted to connect to."""

    def __init__(self, world: World, private: frozenset[str]) -> None:
        self._world = world
        self._private = private
        self.attempts: list[tuple[str, int]] = []

    @property
    def inside(self) -> list[tuple[str, int]]:
        """The attempts that were none to a public address, nor to one that may be reached."""
        return [(host, port) for host, port in self.attempts if host not in PUBLIC | self._private | {DOWN}]

    async def connect_tcp(
        self, host: str, port: int, *rest: Any, **named: Any
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the loopback server that stands for an address."""
        self.attempts.append((host, port))
        if host == DOWN:
            raise httpcore.ConnectError("nobody answers")
        away = host not in PUBLIC | self._private
        there = self._world.catcher if away else self._world.tls if port in TLS_PORTS else self._world.web
        return await super().connect_tcp("127.0.0.1", there, *rest, **named)


@asynccontextmanager
async def open_world(*names: str) -> AsyncIterator[World]:
    """Start the servers; the certificate of the web server is for `names`, by a CA of this test only."""
    authority = trustme.CA()
    server_context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(*names).configure_cert(server_context)
    client_context = ssl.create_default_context()
    authority.configure_trust(client_context)
    world = World(0, 0, 0, client_context)

    def note_name(_: ssl.SSLObject, name: str | None, __: ssl.SSLContext) -> None:
        world.names.append(name)

    async def catch(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        world.caught.append(b"connected")

    server_context.sni_callback = note_name
    async with (
        listening(_serve) as world.web,
        listening(_serve, server_context) as world.tls,
        listening(catch) as world.catcher,
    ):
        yield world


@asynccontextmanager
async def listening(handle: Handle, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Serve connections on a free port of the loopback; at the end, those that are open are broken off."""
    tasks: set[asyncio.Task[None]] = set()

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await handle(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError, asyncio.CancelledError):
            pass  # the peer has gone, or the server ends
        finally:
            tasks.discard(task)
            if task.cancelling():
                writer.transport.abort()
            writer.close()

    async with await asyncio.start_server(hold, "127.0.0.1", 0, ssl=context) as server:
        yield int(server.sockets[0].getsockname()[1])
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer requests on one connection until it is closed, each by what its query asks for."""
    target = ""
    while "close" not in urlsplit(target).path:
        line, *rows = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = dict(row.split(": ", 1) for row in rows if row)
        lower = {name.lower(): value for name, value in headers.items()}
        body = await reader.readexactly(int(lower.get("content-length", 0)))
        method, target, _ = line.split(" ")
        writer.write(_reply(method, target, lower, body))
        await writer.drain()


def _reply(method: str, target: str, headers: dict[str, str], body: bytes) -> bytes:
    asked = {name: values[0] for name, values in parse_qs(urlsplit(target).query).items()}
    told = {"method": method, "target": target, "headers": headers, "body": body.decode("latin-1")}
    content = json.dumps(told).encode()
    sent = {"Content-Type": asked.get("type", "application/json"), "Connection": "keep-alive"}
    if "to" in asked:
        sent["Location"] = asked["to"]
    if size := int(asked.get("zeros", 0)):
        content = gzip.compress(b"0" * size)
    elif "gzip" in asked:
        content = gzip.compress(content)
    if size or "gzip" in asked:
        sent["Content-Encoding"] = "gzip"
    sent["Content-Length"] = str(len(content))
    if "close" in urlsplit(target).path:
        sent["Connection"] = "close"
    rows = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    start = f"HTTP/1.1 {asked.get('status', 200)} Said\r\n{rows}\r\n".encode()
    return start + (b"" if method == "HEAD" else content)
