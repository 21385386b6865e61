"""A model that replies from a script over real HTTP, in a process of its own and after a set time.

Which reply a request gets follows from the request alone: a planner gets the plan, `respond` the
answer, and anybody else the turn after the replies that stand in the conversation.
"""

from __future__ import annotations

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast


class ModelServer(ThreadingHTTPServer):
    """Serve one script: `plan`, `answer`, `turns` (lists of calls) and `delay_s`."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, script: dict[str, Any]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.asked: list[tuple[list[dict[str, Any]], str]] = []


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Say about how many tokens were sent and returned so far."""
        body = str(sum(tokens(*exchange) for exchange in cast(ModelServer, self.server).asked)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        """Wait as long as a model thinks, and reply."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        script = cast(ModelServer, self.server).script
        time.sleep(script["delay_s"])
        reply = reply_to(request["messages"], script)
        form = json.dumps([request.get("tools", []), request.get("response_format")], separators=(",", ":"))
        cast(ModelServer, self.server).asked.append(([*request["messages"], reply], form))
        body = json.dumps(completion(reply)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep stderr clean."""


def reply_to(messages: list[dict[str, Any]], script: dict[str, Any]) -> dict[str, Any]:
    """Choose the message a conversation gets."""
    system = str(messages[0]["content"]) if messages[0]["role"] == "system" else ""
    if "Role: planner" in system:
        return {"role": "assistant", "content": script["plan"]}
    said = sum(message["role"] == "assistant" for message in messages)
    if "Role: respond" in system or said >= len(script["turns"]):
        return {"role": "assistant", "content": script["answer"]}
    calls = [
        {"id": f"c{said}_{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
        for n, (name, args) in enumerate(script["turns"][said])
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def tokens(messages: list[dict[str, Any]], form: str) -> int:
    """Estimate the tokens of messages as LangChain does, and of tools and form by their characters."""
    from langchain_core.messages.utils import count_tokens_approximately  # it takes half a second to load

    return count_tokens_approximately(messages) + len(form) // 4


def completion(message: dict[str, Any]) -> dict[str, Any]:
    """Wrap a message as OpenAI's API does."""
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": "tool_calls" if "tool_calls" in message else "stop",
    }
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }


if __name__ == "__main__":
    server = ModelServer(json.loads(sys.argv[1]))
    print(server.server_address[1], flush=True)
    server.serve_forever()
