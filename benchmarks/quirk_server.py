"""A chat-completions server over real HTTP that answers right, but for one quirk in the replies of one role.

It plays a planner that lists the tickets, an agent that lists them by a call, and whoever writes the answer.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self, cast

Json = dict[str, Any]
MANY = "many servers"
ANSWER = "Two tickets are open."
PLAN: Json = {"goal": "List them", "steps": [{"id": "s1", "capability": "tickets.list", "params": {}}]}


def unchanged(part: Json) -> Json:
    """Change nothing."""
    return part


@dataclass(frozen=True)
class Quirk:
    """One way in which a server differs from the documentation of OpenAI."""

    name: str
    """What it does, in a few words."""
    servers: str
    """Which servers do so."""
    part: Callable[[Json], Json] = unchanged
    """Changes a whole completion, and each chunk of a streamed one."""
    wire: Callable[[bytes, bool], bytes] = lambda body, streamed: body
    """Changes the bytes of the body; the second argument says whether it is a stream."""
    refuses: Callable[[Json], str] = lambda request: ""
    """Says why a request is refused with status 400; "" where it is not."""
    status: int = 400
    """Status of such a refusal."""
    events: Callable[[list[Json]], list[Json]] = lambda parts: parts
    """Changes the chunks of a stream as a row."""
    kind: str | None = None
    """Content type that it says instead of the documented one; "" for none at all."""
    answers: Literal["", "whole", "stream"] = ""
    """In which form it answers every request; "" for that which was asked for."""
    tells: str = ""
    """What a run has to say in its answer, since the server cannot be met; "" where it can."""
    calls: int = 1
    """How many calls the agent makes at once."""


def reply_to(request: Json, calls: int = 1) -> Json:
    """Make the message that a model would answer a request with; an agent calls so often at once."""
    messages = request["messages"]
    system = json.dumps([message["content"] for message in messages if message["role"] != "user"])
    names = [tool["function"]["name"] for tool in request.get("tools") or ()]
    if "Role: planner" in system:
        return _calls(["planner"], PLAN) if "planner" in names else _says(json.dumps(PLAN))
    if "Role: agent" in system or "tickets__list" in names:
        begun = any(message["role"] == "tool" for message in messages)
        return _says(ANSWER) if begun else _calls(["tickets__list"] * calls, {})
    return _says(ANSWER)


def role_of(request: Json) -> str:
    """Name the role that a request is made for: `planner`, `agent`, or any other."""
    text = json.dumps(request["messages"])
    return next((role for role in ("planner", "agent", "respond") if f"Role: {role}" in text), "agent")


def completion(message: Json) -> Json:
    """Spell a message as a whole completion."""
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "quirky"}
    return {**head, "choices": [choice], "usage": usage}


def chunks(whole: Json) -> Iterator[Json]:
    """Spell a completion as the chunks of a stream, a call in two pieces."""
    head = {name: whole[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    message, finish = whole["choices"][0]["message"], whole["choices"][0]["finish_reason"]
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": f"{word} "} for word in (message["content"] or "").split()]
    for index, call in enumerate(message.get("tool_calls", ())):
        spelled = call["function"]["arguments"]
        half = len(spelled) // 2
        first = {**call, "index": index, "function": {**call["function"], "arguments": spelled[:half]}}
        deltas.append({"tool_calls": [first]})
        deltas.append({"tool_calls": [{"index": index, "function": {"arguments": spelled[half:]}}]})
    for delta in deltas:
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}], "usage": None}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": None}
    yield {**head, "choices": [], "usage": whole["usage"]}


def _says(text: str) -> Json:
    return {"role": "assistant", "content": text}


def _calls(names: list[str], arguments: Json) -> Json:
    """Call each of some tools, the first with these arguments, the others for closed tickets."""
    calls = []
    for at, name in enumerate(names):
        spelled = json.dumps({"status": "closed"} if at else arguments)
        function = {"name": name, "arguments": spelled}
        calls.append({"id": f"call_{at + 1}", "type": "function", "function": function})
    return {"role": "assistant", "content": None, "tool_calls": calls}


class QuirkServer:
    """Serves for the length of a `with` block; `quirk` is played for one role, and may be exchanged."""

    def __init__(self) -> None:
        self.quirk, self.role = Quirk("none", ""), ""
        self._http = _Http(self)

    @property
    def url(self) -> str:
        """Where an OpenAI client is to be pointed at."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, desk: QuirkServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.desk = desk


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer a request."""
        desk = cast(_Http, self.server).desk
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        quirk = desk.quirk if role_of(request) == desk.role else Quirk("none", "")
        if refusal := quirk.refuses(request):
            error = {"error": {"message": refusal, "type": "invalid_request_error", "code": None}}
            self._send(quirk.status, "application/json", json.dumps(error).encode())
            return
        whole = completion(reply_to(request, quirk.calls))
        streamed = request.get("stream") if not quirk.answers else quirk.answers == "stream"
        if not streamed:
            body = json.dumps(quirk.part(whole)).encode()
            self._send(200, "application/json", quirk.wire(body, False), quirk.kind)
            return
        parts = quirk.events([quirk.part(each) for each in chunks(whole)])
        events = b"".join(b"data: %s\n\n" % json.dumps(each).encode() for each in parts)
        self._send(200, "text/event-stream", quirk.wire(events + b"data: [DONE]\n\n", True), quirk.kind)

    def _send(self, status: int, usual: str, body: bytes, kind: str | None = None) -> None:
        self.send_response(status)
        if kind := usual if kind is None else kind:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep stderr clean."""
