"""A model that does exactly what its script says, and what a text says that reached it, over real HTTP.

Which reply a request gets follows from the conversation alone, so a run that goes on in another process, or
asks again after a crash, hears the same. Tools are called natively, or in words where it is offered none.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

Call = tuple[str, dict[str, Any]]
Turns = Sequence[Sequence[Call]]

_NONCE = re.compile(r'<tool_call nonce="([^"$]+)">')
_SILENT = {
    "consolidate": '{"memories": []}',
    "alternative": "NO_ALTERNATIVE",
    "planning": "no",
    "compaction": "They talked.",
}


@dataclass
class Script:
    """What a model says: `turns` of calls after `request`, then `answer`; `jobs` the turns of other tasks.

    Once `trigger` has reached it, it makes the calls of `obeys` before it goes on, and says `says` at the
    end. `plan` is what it says as a planner, and `plan_obeys` once `trigger` is in what a planner is sent.
    """

    request: str
    turns: Turns
    answer: str = "That is done."
    jobs: Mapping[str, Turns] = field(default_factory=dict)
    plan: Mapping[str, Any] | None = None
    trigger: str = ""
    obeys: Turns = ()
    plan_obeys: Mapping[str, Any] | None = None
    says: str = ""
    reached: bool = False
    offered: set[str] = field(default_factory=set)
    missed: set[str] = field(default_factory=set)

    def reply(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Write the message that a conversation gets."""
        system = _text(messages[0]) if messages[0]["role"] == "system" else ""
        role = system.partition("\n")[0].removeprefix("Role: ").strip()
        seen = bool(self.trigger) and self.trigger in json.dumps(messages)
        self.reached |= seen
        if role == "planner":
            return {
                "role": "assistant",
                "content": json.dumps(self.plan_obeys if seen and self.plan_obeys else self.plan),
            }
        if role == "task_extraction":
            return {"role": "assistant", "content": json.dumps({"task": self.request})}
        if role in _SILENT or role == "respond":
            return {"role": "assistant", "content": _SILENT.get(role, self._closing(seen))}
        turns, said = self._place(messages)
        if seen:
            turns = [*turns[:1], *self.obeys, *turns[1:]]
        if said >= len(turns):
            return {"role": "assistant", "content": self._closing(seen)}
        return self._calls(turns[said], said, system, tools)

    def _closing(self, seen: bool) -> str:
        return self.says if seen and self.says else self.answer

    def _place(self, messages: Sequence[Mapping[str, Any]]) -> tuple[Turns, int]:
        """Find which task a conversation is about, and how often the model has spoken since."""
        for task, turns in (*self.jobs.items(), (self.request, self.turns)):
            at = [n for n, one in enumerate(messages) if one["role"] == "user" and task in _text(one)]
            if at:
                return turns, sum(one["role"] == "assistant" for one in messages[at[-1] :])
        return (), 0

    def _calls(
        self, calls: Sequence[Call], said: int, system: str, tools: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        named = [(name.replace(".", "__"), args) for name, args in calls]
        nonce = _NONCE.search(system)
        self.offered |= {str(tool["function"]["name"]) for tool in tools}
        for name, _ in named:
            offered = f'"name":"{name}"' in system if nonce else name in self.offered
            self.missed |= set() if offered else {name}
        if nonce:
            blocks = (
                f'<tool_call nonce="{nonce[1]}">{json.dumps({"name": name, "arguments": args})}</tool_call>'
                for name, args in named
            )
            return {"role": "assistant", "content": "\n".join(blocks)}
        listed = [
            {
                "id": f"c{said}_{n}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(args)},
            }
            for n, (name, args) in enumerate(named)
        ]
        return {"role": "assistant", "content": None, "tool_calls": listed}


class ModelServer(ThreadingHTTPServer):
    """Serve the script of whichever run is being played."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = Script("", ())

    @property
    def base_url(self) -> str:
        """The address for a provider's settings."""
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Reply by the script."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = cast(ModelServer, self.server).script.reply(asked["messages"], asked.get("tools", ()))
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": "tool_calls" if "tool_calls" in message else "stop",
        }
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        body = json.dumps(
            {
                "id": "c",
                "object": "chat.completion",
                "created": 1,
                "model": "m",
                "choices": [choice],
                "usage": usage,
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep stderr clean."""


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """Serve in a thread."""
    server = ModelServer()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else " ".join(str(part.get("text", "")) for part in content)
