"""A receiver in a process of its own, which counts what happened by business id, and a model beside it.

It knows nothing of runs, ledgers or leases: a lost or a doubled effect shows here, whatever a sender
believes. Three kinds of service: one honours the idempotency key, one does all that arrives and can be asked
for a key, one does all that arrives and knows nothing.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, cast

from benchmarks.consent_model import Script

PATIENCE_S = 60


@dataclass(frozen=True)
class Arrival:
    """Something that took place at the receiver: which, under which key, and which process sent it."""

    name: str
    key: str
    sender: int


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, script: Script | None, held: frozenset[str], delay_s: float) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script, self.held, self.delay_s = script, held, delay_s
        self.state = threading.Condition()
        self.happened: list[Arrival] = []
        self.arrived: list[str] = []
        self.connections: set[Any] = set()
        self.released = False

    def process_request(self, request: Any, client_address: Any) -> None:
        """Note a connection before anything of it is read; in the order of their arrival."""
        with self.state:
            self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Note that a connection has ended."""
        super().shutdown_request(request)
        with self.state:
            self.connections.discard(request)
            self.state.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep stderr clean: senders are killed in the middle of their requests."""

    def take(self, kind: str, arrival: Arrival) -> None:
        """Let an effect take place; a key that is known changes nothing where keys are honoured."""
        with self.state:
            self.arrived.append(arrival.name)
            self.state.notify_all()
            known = any(one.key == arrival.key for one in self.happened)
            if kind != "idempotent" or not known:
                self.happened.append(arrival)
            if arrival.name in self.held:
                self.state.wait_for(lambda: self.released, PATIENCE_S)


class _Handler(BaseHTTPRequestHandler):
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Take an effect, or reply as the model."""
        server = cast(_Server, self.server)
        content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/chat/completions"):
            assert server.script is not None
            message = server.script.reply(content["messages"], content.get("tools", ()))
            self._answer(completion(message))
        else:
            time.sleep(server.delay_s / 2)
            server.take(self.path[1:], Arrival(content["name"], content["key"], content["sender"]))
            time.sleep(server.delay_s / 2)
            self._answer({"name": content["name"]})

    def do_GET(self) -> None:
        """Tell what happened; before that, wait until nobody else is connected, or let go of what is held.

        With `earlier`, wait until whoever connected before has gone; others may come meanwhile.
        """
        server = cast(_Server, self.server)
        with server.state:
            if self.path == "/quiet":
                server.state.wait_for(lambda: len(server.connections) == 1, PATIENCE_S)
            if self.path == "/earlier":
                before = server.connections - {self.request}
                server.state.wait_for(lambda: not before & server.connections, PATIENCE_S)
            if self.path == "/release":
                server.released = True
                server.state.notify_all()
            happened = [[one.name, one.key, one.sender] for one in server.happened]
            there = {"happened": happened, "arrived": server.arrived, "connected": len(server.connections)}
            self._answer(there)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep stderr clean."""

    def _answer(self, content: Any) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@dataclass
class Receiver:
    """The receiver, as senders and judges see it: an address."""

    port: int
    pid: int = field(default=0, compare=False)

    def send(self, kind: str, name: str, key: str) -> str:
        """Send an effect and wait for the answer. Raises OSError when there is none."""
        content = {"name": name, "key": key, "sender": os.getpid()}
        return str(self._request("POST", f"/{kind}", content)["name"])

    def knows(self, key: str) -> bool:
        """Ask whether anything arrived under a key."""
        return any(one.key == key for one in self.happened())

    def happened(self, first: Literal["", "quiet", "release", "earlier"] = "") -> list[Arrival]:
        """List what took place: at once, or when nobody else is connected, or nobody who came earlier.

        `release` lets go of what is held.
        """
        return [Arrival(*one) for one in self._request("GET", f"/{first}")["happened"]]

    def arrivals(self) -> list[str]:
        """List the names of all that arrived, whether or not it took place."""
        return list(self._request("GET", "/")["arrived"])

    def connected(self) -> int:
        """Count who is connected, whoever asks for it included."""
        return int(self._request("GET", "/")["connected"])

    def count(self, name: str) -> int:
        """Count how often an effect took place."""
        return sum(one.name == name for one in self.happened())

    def _request(self, method: str, path: str, content: Any = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, path, None if content is None else json.dumps(content))
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()


@contextmanager
def receiving(
    script: Script | None, held: frozenset[str] = frozenset(), delay_s: float = 0.002
) -> Iterator[Receiver]:
    """Run a receiver in a forked process; answers to what is `held` wait until they are released."""
    server = _Server(script, held, delay_s)
    pid = os.fork()
    if pid == 0:
        try:
            server.serve_forever(poll_interval=5)
        finally:
            os._exit(0)
    server.socket.close()
    try:
        yield Receiver(server.server_port, pid)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def completion(message: dict[str, Any]) -> dict[str, Any]:
    """Wrap a message as OpenAI's API does."""
    finish = "tool_calls" if "tool_calls" in message else "stop"
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    base = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    return {**base, "choices": [choice], "usage": usage}
