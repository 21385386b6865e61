"""Strict servers of every family over real HTTP, on one port of the loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Protocol, Self, cast

from benchmarks.contract_chat import Refused
from benchmarks.contract_model import Conversation, Json, Reply, answer_to

LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
TOO_LONG = "This model's maximum context length is 128000 tokens."


class Family(Protocol):
    """A kind of server: how it reads a request, what it refuses, how it spells a reply."""

    name: str
    """Its name; the first part of its path."""
    path: str
    """Path that is asked."""
    model: str
    """Name of its model."""
    source: str
    """Where its contract is documented."""
    capabilities: tuple[str, ...]
    """What a user says that it can do, beside streaming."""
    settings: Mapping[str, Any]
    """What a user sets beside address, key, model and capabilities."""
    altered: list[str]
    """What came back otherwise than it was sent."""

    def read(self, request: Json) -> Conversation:
        """Read a request. Raises Refused."""

    def whole(self, reply: Reply, request: Json) -> Json:
        """Spell a whole reply."""

    def events(self, reply: Reply, request: Json) -> Iterator[bytes]:
        """Spell a streamed reply."""


class StrictServer:
    """Serves families for the length of a `with` block; each at `url(name)`."""

    def __init__(self, families: Sequence[Family]) -> None:
        self.families = {family.name: family for family in families}
        self.requests: list[tuple[str, Json]] = []
        """Requests as they came, with the name of the family."""
        self.refusals: list[tuple[str, str]] = []
        """What was refused, with the name of the family."""
        self.away: dict[str, int] = {}
        """Families that answer 503, by name, with how many requests they serve before."""
        self.thinks = 0
        """Tokens that every model thinks before it says a word; a reply with fewer is cut off."""
        self.crowded: set[str] = set()
        """Families that find the third turn of a loop too long, until it is shorter."""
        self._http = _Http(self)

    def url(self, name: str) -> str:
        """Where a client of a family is to be pointed at."""
        path = self.families[name].path
        for endpoint in ("/chat/completions", "/responses", "/v1/messages"):
            path = path.removesuffix(endpoint)
        return f"http://127.0.0.1:{self._http.server_address[1]}/{name}{path}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()

    def served(self, name: str) -> list[Json]:
        """List the requests that a family got."""
        return [request for family, request in self.requests if family == name]


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, desk: StrictServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.desk = desk


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer a request, or refuse it."""
        desk = cast(_Http, self.server).desk
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = self.path.split("/")[1]
        family = desk.families[name]
        if self.path.partition("?")[0] != f"/{name}{family.path}":
            self._send(404, {"error": {"message": f"there is no {self.path}"}})
            return
        desk.requests.append((name, request))
        if desk.away.get(name, len(desk.requests)) < len(desk.served(name)):
            self._send(503, {"error": {"message": "The service is overloaded.", "type": "server_error"}})
            return
        try:
            asked = family.read(request)
            if name in desk.crowded and asked.too_long:
                raise Refused(f"{TOO_LONG} However, your messages resulted in 140000 tokens.")
        except Refused as refusal:
            desk.refusals.append((name, str(refusal)))
            self._send(refusal.status, refusal.body)
            return
        reply = answer_to(asked, name)
        most = min((request[limit] for limit in LIMITS if limit in request), default=desk.thinks)
        if most < desk.thinks:
            reply = Reply(thoughts=reply.thoughts, cut=most)
        if request.get("stream"):
            self._write(200, "text/event-stream", b"".join(family.events(reply, request)))
        else:
            self._send(200, family.whole(reply, request))

    def _send(self, status: int, body: object) -> None:
        self._write(status, "application/json", json.dumps(body).encode())

    def _write(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep stderr clean."""
