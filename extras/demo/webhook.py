"""The team channel of the demo: a loopback HTTP service that runs as a process of its own.

    python -m planwright.extras.demo.webhook --log PATH.db --faults 1 [--port 0]

`POST /hooks/team` takes `{"text": ..., "channel": ...}` with an `Idempotency-Key`, `GET /health`
says that the service is up. All else that reaches it is answered and logged too. The service
ends when its stdin is closed, so it cannot outlive the program that started it.
"""

from __future__ import annotations

import argparse
import json
import signal
import sqlite3
import sys
import threading
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

HOST = "127.0.0.1"
HOOK_PATH = "/hooks/team"
HEALTH_PATH = "/health"
MAX_BODY = 64 * 1024
MAX_READ = 1024 * 1024

SCHEMA = """
CREATE TABLE IF NOT EXISTS requests (
    id INTEGER PRIMARY KEY, received_at TEXT NOT NULL, path TEXT NOT NULL,
    idempotency_key TEXT NOT NULL, body TEXT NOT NULL, status INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS messages (
    id INTEGER PRIMARY KEY, idempotency_key TEXT NOT NULL UNIQUE,
    channel TEXT NOT NULL, text TEXT NOT NULL, received_at TEXT NOT NULL
);
"""


class Request(NamedTuple):
    """What the inbox needs to know of a request; the body is None if it was too large."""

    method: str
    """HTTP method."""
    path: str
    """Path that was asked for."""
    key: str
    """Its Idempotency-Key; "" where it has none."""
    body: bytes | None
    """Body as bytes; None if it was too large."""


class HookReply(NamedTuple):
    """A status and the JSON that goes with it."""

    status: int
    """HTTP status."""
    content: dict[str, object]
    """What is sent as JSON."""


class Message(NamedTuple):
    """What a valid body says."""

    text: str
    """Text of the message."""
    channel: str
    """Name of the channel that it is for."""


class Inbox:
    """Keeps every request and, once for each idempotency key, its message."""

    def __init__(self, log: Path, faults: int) -> None:
        self._log = log
        self._faults_left = faults
        self._lock = threading.Lock()
        log.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(log)) as db:
            db.executescript(SCHEMA)

    def receive(self, request: Request) -> HookReply:
        """Decide the answer and commit the request, with its message if it brings one, before returning."""
        received_at = datetime.now(UTC).isoformat()
        body = (request.body or b"").decode("utf-8", "replace")
        with self._lock, closing(sqlite3.connect(self._log)) as db, db:
            answer = self._answer(db, request, received_at)
            db.execute(
                "INSERT INTO requests (received_at, path, idempotency_key, body, status)"
                " VALUES (?, ?, ?, ?, ?)",
                (received_at, request.path, request.key, body, answer.status),
            )
        return answer

    def _answer(self, db: sqlite3.Connection, request: Request, received_at: str) -> HookReply:
        """Refuse what is wrong, fail while faults are left, and store the message otherwise."""
        if (request.method, request.path) != ("POST", HOOK_PATH):
            return HookReply(404, {"ok": False, "error": "there is nothing here"})
        if request.body is None:
            return HookReply(413, {"ok": False, "error": f"the body is larger than {MAX_BODY} bytes"})
        if self._faults_left > 0:
            self._faults_left -= 1
            return HookReply(503, {"ok": False, "error": "out of order, try again"})
        if not request.key:
            return HookReply(400, {"ok": False, "error": "the Idempotency-Key header is missing"})
        message = read_message(request.body)
        if message is None:
            return HookReply(
                400, {"ok": False, "error": 'the body is not {"text": string, "channel": string}'}
            )
        return _store(db, request.key, message, received_at)


def read_message(body: bytes) -> Message | None:
    """Read a message from a JSON body, or return None if it holds none."""
    try:
        content = json.loads(body)
        text, channel = content["text"], content["channel"]
        # JSON can spell half a surrogate pair, which SQLite cannot store.
        f"{text}{channel}".encode()
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return Message(text, channel) if isinstance(text, str) and isinstance(channel, str) else None


def _store(db: sqlite3.Connection, key: str, message: Message, received_at: str) -> HookReply:
    """Store the message unless its key is known, and answer with the id of the one that is kept."""
    added = db.execute(
        "INSERT INTO messages (idempotency_key, channel, text, received_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (idempotency_key) DO NOTHING",
        (key, message.channel, message.text, received_at),
    ).rowcount
    (message_id,) = db.execute("SELECT id FROM messages WHERE idempotency_key = ?", (key,)).fetchone()
    return HookReply(200, {"ok": True, "message_id": message_id, "duplicate": added == 0})


class Service(ThreadingHTTPServer):
    """Listens on the loopback interface and hands each request to an inbox."""

    request_queue_size = 64

    def __init__(self, port: int, inbox: Inbox) -> None:
        super().__init__((HOST, port), Handler)
        self.inbox = inbox

    def handle_error(self, request: object, client_address: object) -> None:
        """Report a failed request on stderr, unless it failed because its client went away."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class Handler(BaseHTTPRequestHandler):
    """Speaks HTTP for the inbox."""

    server: Service
    """The service that took the connection."""
    timeout = 10

    def do_GET(self) -> None:
        """Answer a health check; anything else is none of ours."""
        if self.path == HEALTH_PATH:
            self._send(HookReply(200, {"ok": True}))
        else:
            self._receive(b"")

    def do_POST(self) -> None:
        """Pass the request on to the inbox."""
        self._receive(self._read_body())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the log is in the database."""

    def _receive(self, body: bytes | None) -> None:
        """Have the inbox take the request, then send what it answers."""
        key = self.headers.get("Idempotency-Key", "")
        self._send(self.server.inbox.receive(Request(self.command, self.path, key, body)))

    def _read_body(self) -> bytes | None:
        """Read the body, or return None if it is too large.

        A body that is a little too large is read all the same: closing a connection with bytes
        unread resets it, and the client would never see the answer.
        """
        length = self.headers.get("Content-Length", "")
        size = int(length) if length.isdecimal() and len(length) < 20 else 0
        body = self.rfile.read(min(size, MAX_READ))
        return body if size <= MAX_BODY else None

    def _send(self, answer: HookReply) -> None:
        """Send the answer as JSON."""
        content = json.dumps(answer.content).encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if answer.status == 503:
            self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(content)


def run_webhook(argv: Sequence[str] | None = None) -> None:
    """Serve until stdin is closed or a signal asks to stop.

    A request under way is cut off then; it is answered only after its commit, so nothing is lost.
    """
    parser = argparse.ArgumentParser(prog="python -m planwright.extras.demo.webhook")
    parser.add_argument("--log", type=Path, required=True, help="SQLite file for requests and messages")
    parser.add_argument("--faults", type=int, default=1, help="how many requests to fail first (default: 1)")
    parser.add_argument("--port", type=int, default=0, help="port to listen on (default: any free one)")
    options = parser.parse_args(argv)
    service = Service(options.port, Inbox(options.log, options.faults))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    threading.Thread(target=service.serve_forever, daemon=True).start()
    print(f"listening on http://{HOST}:{service.server_port}", flush=True)
    while sys.stdin.buffer.read(4096):
        pass


if __name__ == "__main__":
    run_webhook()
