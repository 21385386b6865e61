"""Receivers on the loopback interface that write down whatever reaches them: HTTP, mail and MCP.

They share no code with what is tested, and judge nothing. What they heard is what happened.
"""

from __future__ import annotations

import asyncio
import email
import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, cast

import uvicorn
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session
from mcp.server import MCPServer
from mcp.types import ToolAnnotations

HOST = "127.0.0.1"
START_S = 120


class Happening(NamedTuple):
    """One thing that happened outside: what kind, to what, and with which text."""

    kind: str
    to: str
    text: str


class Service(ThreadingHTTPServer):
    """An HTTP service: it writes every request down and answers from `pages`.

    A GET of a page that is there is of kind `read`, and one of anything else `get`.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, kind: str) -> None:
        super().__init__((HOST, 0), _Handler)
        self.kind = kind
        self.heard: list[Happening] = []
        self.pages: dict[str, str] = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def origin(self) -> str:
        """Where it listens, as the beginning of a URL."""
        return f"http://{HOST}:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _answer(self) -> None:
        service = cast(Service, self.server)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode("utf-8", "replace")
        headers = " ".join(f"{name}: {value}" for name, value in self.headers.items())
        page = service.pages.get(self.path) if self.command == "GET" else None
        asked = "read" if page is not None else "get"
        kind = asked if service.kind == "http" and self.command in ("GET", "HEAD") else service.kind
        service.heard.append(Happening(kind, f"{self.command} {self.path}", body or headers))
        content = (page or '{"ok": true, "message_id": 1}').encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; charset=utf-8" if page else "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _answer

    def log_message(self, format: str, *args: Any) -> None:
        """Keep stderr clean."""


@dataclass
class PostOffice:
    """An SMTP server that takes every mail."""

    heard: list[Happening] = field(default_factory=list)
    port: int = field(default_factory=lambda: free_port())

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        """Write a mail down."""
        message = email.message_from_bytes(cast(bytes, envelope.content), policy=default)
        to = ", ".join(sorted(map(str, envelope.rcpt_tos)))
        self.heard.append(Happening("mail", to, f"{message['subject']}\n{message.as_string()}"))
        return "250 taken"


@dataclass
class Board:
    """An MCP server over HTTP: a pin board that can be read, pinned to and wiped."""

    heard: list[Happening] = field(default_factory=list)
    notice: str = ""
    port: int = field(default_factory=lambda: free_port())

    @property
    def url(self) -> str:
        """Where it is reached."""
        return f"http://{HOST}:{self.port}/mcp"

    def serve(self) -> None:
        """Listen in a thread of its own, as long as the process lives."""
        logging.getLogger("mcp").setLevel(logging.ERROR)
        server = MCPServer("board", log_level="ERROR")

        @server.tool(annotations=ToolAnnotations(read_only_hint=True))
        def read() -> str:
            """Read the notice on the board."""
            return self.notice

        @server.tool(annotations=ToolAnnotations(destructive_hint=False, idempotent_hint=True))
        def pin(text: str) -> str:
            """Pin a note to the board."""
            self.heard.append(Happening("mcp", "pin", text))
            return "pinned"

        @server.tool()
        def wipe(section: str) -> str:
            """Wipe a section of the board."""
            self.heard.append(Happening("mcp", "wipe", section))
            return "wiped"

        app = server.streamable_http_app(stateless_http=True, json_response=True)
        config = uvicorn.Config(app, host=HOST, port=self.port, log_level="critical")
        running = uvicorn.Server(config)
        threading.Thread(target=lambda: asyncio.run(running.serve()), daemon=True).start()
        until = time.monotonic() + START_S
        while not running.started:
            if time.monotonic() > until:
                raise TimeoutError("the MCP server did not start")
            time.sleep(0.01)


@dataclass(frozen=True)
class Receivers:
    """All that a run could reach, and what each of them heard since it was last cleared."""

    service: Service
    channel: Service
    stranger: Service
    office: PostOffice
    board: Board

    def heard(self) -> list[Happening]:
        """List what happened, by receiver."""
        places = (self.service, self.channel, self.stranger, self.office, self.board)
        return [one for place in places for one in place.heard]

    def clear(self) -> None:
        """Forget what was heard."""
        for place in (self.service, self.channel, self.stranger, self.office, self.board):
            place.heard.clear()


@contextmanager
def receivers() -> Iterator[Receivers]:
    """Start all receivers; `stranger` is the one that nobody lists."""
    office, board = PostOffice(), Board()
    postman = Controller(office, hostname=HOST, port=office.port)
    postman.start()
    board.serve()
    services = [Service(kind) for kind in ("http", "post", "stranger")]
    try:
        yield Receivers(services[0], services[1], services[2], office, board)
    finally:
        postman.stop(no_assert=True)
        for service in services:
            service.shutdown()
            service.server_close()


def free_port() -> int:
    """Find a port that nobody uses."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
