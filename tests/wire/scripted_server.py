"""An OpenAI-compatible server that replies from a list: real HTTP, and every fault on demand.

`POST /v1/chat/completions` answers with the next reply; the last one is repeated. Each request is
kept in `requests`. A streamed request gets its reply as server-sent events, word by word.
"""

from __future__ import annotations

import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self, cast

LONGEST_HANG_S = 30


@dataclass(frozen=True)
class Reply:
    """What one request gets: an answer, or the way the connection breaks.

    Streamed, it comes word by word, or in pieces of so many characters; `fills` completes a body by what
    was asked.
    """

    status: int = 200
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    breaks: Literal["", "hang", "reset", "cut", "end", "error"] = ""
    streamed: bool = False
    pace_s: float = 0
    piece: int = 0
    fills: Callable[[str, Request], str] | None = None


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
        return self.headers.get("authorization", self.headers.get("x-api-key", "")).removeprefix("Bearer ")

    def sent(self, role: str) -> str:
        """What was sent under a role, all messages together."""
        return "\n".join(
            str(message["content"]) for message in self.body["messages"] if message["role"] == role
        )


def says(
    text: str, tokens: tuple[int, int] | None = (1000, 200), finish: str = "stop", pace_s: float = 0
) -> Reply:
    """Answer with a text, and say what it used unless `tokens` is None; pause before each streamed word."""
    return _completion({"role": "assistant", "content": text}, tokens, finish, pace_s)


def thinks(field: str, thoughts: str, text: str) -> Reply:
    """Answer with a text, and with thoughts in a field of their own."""
    return _completion({"role": "assistant", "content": text, field: thoughts}, (1000, 200), "stop")


def calls(name: str, arguments: Mapping[str, Any], text: str = "") -> Reply:
    """Answer with one tool call."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": "call_1", "type": "function", "function": function}
    message = {"role": "assistant", "content": text, "tool_calls": [call]}
    return _completion(message, (1000, 200), "tool_calls")


def breaks_off(text: str, how: Literal["cut", "end", "error"]) -> Reply:
    """Stream half of a text: then the connection breaks, the stream ends, or an error is sent."""
    return replace(says(text), breaks=how)


def _completion(
    message: dict[str, Any], tokens: tuple[int, int] | None, finish: str, pace_s: float = 0
) -> Reply:
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
    return Reply(body=json.dumps(content), streamed=True, pace_s=pace_s)


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
        if reply.fills:
            reply = replace(reply, body=reply.fills(reply.body, request))
        if reply.breaks == "hang":
            script.wait_until_over()
        if reply.breaks in ("hang", "reset"):
            self._reset()
        elif request.body.get("stream") and reply.streamed:
            self._stream(reply)
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

    def _stream(self, reply: Reply) -> None:
        """Send a reply as events; one that breaks goes no further than its middle."""
        events = _events(json.loads(reply.body), reply.piece)
        kept = events[: len(events) // 2] if reply.breaks else events
        if reply.breaks == "error":
            kept = [*kept, {"error": {"message": "overloaded", "type": "server_error", "code": 529}}]
        lines = [f"data: {json.dumps(event)}\n\n".encode() for event in kept]
        lines += [] if reply.breaks else [b"data: [DONE]\n\n"]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(sum(map(len, lines)) + (reply.breaks == "cut")))
        self.end_headers()
        for line in lines:
            time.sleep(reply.pace_s)
            self.wfile.write(line)
        self.close_connection = self.close_connection or bool(reply.breaks)

    def _reset(self) -> None:
        """Close with RST instead of FIN."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Keep stderr clean."""


def _events(content: Mapping[str, Any], piece: int) -> list[dict[str, Any]]:
    """Spell a completion as the chunks of a stream: words, calls in two pieces, end, usage."""
    head = {name: content[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    message, finish = content["choices"][0]["message"], content["choices"][0]["finish_reason"]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    for name in message.keys() & {"reasoning", "reasoning_content"}:
        deltas += [{name: part} for part in re.findall(r"\S+\s*|\s+", message[name])]
    pattern = rf"(?s).{{1,{piece}}}" if piece else r"\S+\s*|\s+"
    deltas += [{"content": part} for part in re.findall(pattern, message["content"])]
    for index, call in enumerate(message.get("tool_calls", ())):
        said, half = call["function"]["arguments"], len(call["function"]["arguments"]) // 2
        first = {**call, "index": index, "function": {**call["function"], "arguments": said[:half]}}
        deltas += [
            {"tool_calls": [piece]}
            for piece in (first, {"index": index, "function": {"arguments": said[half:]}})
        ]
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    chunks.append({**head, "choices": [], "usage": content.get("usage")})
    return chunks
