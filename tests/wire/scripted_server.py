"""An OpenAI-compatible server that replies from a list: real HTTP, and every fault on demand.

`POST /v1/chat/completions` answers with the next reply; the last one is repeated. Each request is
kept in `requests`. A streamed request gets its reply as server-sent events.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self, cast

LONGEST_HANG_S = 30


@dataclass(frozen=True)
class Reply:
    """What one request gets: an answer, or the way the connection breaks."""

    status: int = 200
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    breaks: Literal["", "hang", "reset", "cut"] = ""
    text: str | None = None


@dataclass(frozen=True)
class Request:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float = field(default_factory=time.monotonic)

    @property
    def key(self) -> str:
        """The key it was sent with."""
        return self.headers.get("authorization", "").removeprefix("Bearer ")

    def sent(self, role: str) -> str:
        """What was sent under a role, all messages together."""
        return "\n".join(
            str(message["content"]) for message in self.body["messages"] if message["role"] == role
        )


def says(text: str, tokens: tuple[int, int] | None = (1000, 200), finish: str = "stop") -> Reply:
    """Answer with a text, and say what it used unless `tokens` is None."""
    message = {"role": "assistant", "content": text}
    content: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    if tokens is not None:
        content["usage"] = dict(
            zip(("prompt_tokens", "completion_tokens", "total_tokens"), (*tokens, sum(tokens)), strict=True)
        )
    return Reply(body=json.dumps(content), text=text)


def refuses(status: int, message: str = "no", headers: dict[str, str] | None = None) -> Reply:
    """Answer with an error status, as OpenAI phrases one."""
    error = {"error": {"message": message, "type": "error", "code": None}}
    return Reply(status, json.dumps(error), headers or {})


def garbage() -> Reply:
    """Answer 200 with something that is no JSON at all."""
    return Reply(body="<html>Bad gateway</html>")


def no_choices() -> Reply:
    """Answer 200 with a completion that holds no choice."""
    return Reply(body=json.dumps({"id": "chatcmpl-1", "object": "chat.completion", "choices": []}))


def hangs() -> Reply:
    """Take the request and never answer."""
    return Reply(breaks="hang")


def resets() -> Reply:
    """Take the request and reset the connection."""
    return Reply(breaks="reset")


def cut_short() -> Reply:
    """Promise a whole body and close the connection in the middle of it."""
    return Reply(body=says("half of this never arrives").body, breaks="cut")


class ScriptedServer:
    """Serves for the length of a `with` block, on a free port of the loopback."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self.requests: list[Request] = []
        self._replies = list(replies)
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._http = _Http(self)

    @property
    def base_url(self) -> str:
        """Where an OpenAI client is to be pointed at."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._http.shutdown()
        self._http.server_close()

    def take(self, request: Request) -> Reply:
        """Keep a request and hand out its reply."""
        with self._lock:
            reply = self._replies[min(len(self.requests), len(self._replies) - 1)]
            self.requests.append(request)
        return reply

    def wait_until_over(self) -> None:
        """Hold a request until the block ends."""
        self._over.wait(LONGEST_HANG_S)


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, script: ScriptedServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that hang up: some tests are about them."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Read a request and play its reply."""
        script = cast(_Http, self.server).script
        content = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, headers, json.loads(content))
        reply = script.take(request)
        if reply.breaks == "hang":
            script.wait_until_over()
        if reply.breaks in ("hang", "reset"):
            self._reset()
        elif request.body.get("stream") and reply.text is not None:
            self._send(200, _events(reply), {"Content-Type": "text/event-stream"})
        else:
            self._send(reply.status, reply.body.encode(), reply.headers, reply.breaks == "cut")

    def _send(self, status: int, body: bytes, headers: dict[str, str], cut: bool = False) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        self.close_connection = self.close_connection or cut

    def _reset(self) -> None:
        """Close with RST instead of FIN."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Keep stderr clean."""


def _events(reply: Reply) -> bytes:
    """Spell a reply as a stream: two pieces of text, the end, the usage."""
    content = json.loads(reply.body)
    text, half = reply.text or "", len(reply.text or "") // 2
    head = {name: content[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "content": text[:half]},
        {"content": text[half:]},
        {},
    ]
    chunks = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None if delta else "stop"}]}
        for delta in deltas
    ]
    chunks.append({**head, "choices": [], "usage": content.get("usage")})
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode() + b"data: [DONE]\n\n"
