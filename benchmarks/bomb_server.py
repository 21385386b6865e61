"""What sends bombs: web pages, replies of a model behind an OpenAI-compatible endpoint, and an MCP server.

It imports nothing of the program, so that it starts at once.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

DEEP = "[" * 100_000 + "]" * 100_000
OPEN = "[" * 100_000
TEXTS: dict[str, str] = {
    "deep": DEEP,
    "open": OPEN,
    "deep object": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "wide": "[" + "[]," * 300_000 + "[]]",
    "digits": "9" * 900_000,
    "numbers": "[" + ",".join(["1e5"] * 200_000) + "]",
}

# What an answer of an MCP server, or the arguments of a call, may just hold.
WITHIN: dict[str, str] = {
    "wide, 9,500 lists": "[" + "[]," * 9_500 + "[]]",
    "60 lists of 150 levels": "[" + ",".join(["[" * 150 + "]" * 150] * 60) + "]",
    "9,500 levels": "[" * 9_500 + "]" * 9_500,
    "9,500 objects": "[" + ",".join(['{"a": 1}'] * 9_500) + "]",
    "a text of 190 kB": '"😀' + "a" * 190_000 + '"',
}
ANSWERS: dict[str, str] = {
    "99,000 numbers": "[" + ",".join(["1e5"] * 99_000) + "]",
    "a text of 1.4 MB": '"😀' + "a" * 1_400_000 + '"',
    "commas in a text of 1.4 MB": '"' + "[," * 700_000 + '"',
    "escapes in a text of 1.4 MB": '"' + r"\\" * 700_000 + '"',
    "a text of 9 MB": '"' + "a" * 9_000_000 + '"',
}


def reply_of(kind: str) -> dict[str, Any]:
    """Make the message of a model: `args NAME` is a tool call with that text as arguments, else its words."""
    way, _, name = kind.partition(" ")
    if way != "args":
        return {"role": "assistant", "content": f'{{"goal": "g", "steps": {TEXTS[name]}}}'}
    function = {"name": "memory__search", "arguments": f'{{"query": {(TEXTS | WITHIN)[name]}}}'}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}],
    }


class Bombs(BaseHTTPRequestHandler):
    """Answer with what the path, or the model that is asked for, names."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Send a JSON document."""
        self._send(TEXTS[self.path[1:].replace("%20", " ")])

    def do_POST(self) -> None:
        """Reply as a model; without a tool to call, with the end. At `/mcp/…`, answer as an MCP server."""
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        _, mcp, kind = self.path.partition("/mcp/")
        if mcp:
            self._send_mcp(asked, unquote(kind))
            return
        wanted = asked["model"].startswith("plan") or len(asked["messages"]) < 4
        message = reply_of(asked["model"]) if wanted else {"role": "assistant", "content": "the end"}
        choice: dict[str, Any] = {"index": 0, "finish_reason": "stop"}
        whole = {"id": "x", "object": "chat.completion", "created": 1, "model": asked["model"]}
        if not asked.get("stream"):
            self._send(json.dumps({**whole, "choices": [{**choice, "message": message}]}))
            return
        whole["object"] = "chat.completion.chunk"
        events = [json.dumps({**whole, "choices": [{**choice, "delta": d}]}) for d in _pieces(message)]
        self._send("".join(f"data: {event}\n\n" for event in [*events, "[DONE]"]), "text/event-stream")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _send_mcp(self, asked: dict[str, Any], kind: str) -> None:
        streamed = kind.startswith("events ")
        answer = answered(asked, kind.removeprefix("events "))
        if not answer:
            self.send_response(202)
            self.send_header("content-length", "0")
            self.end_headers()
        elif streamed:
            self._send(f"event: message\ndata: {answer}\n\n", "text/event-stream")
        else:
            self._send(answer)

    def _send(self, text: str, kind: str = "application/json") -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        with suppress(ConnectionError):  # nobody reads to the end of it
            self.wfile.write(body)


def _pieces(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Cut a message into 2,000 pieces."""
    calls = message.get("tool_calls")
    text = calls[0]["function"]["arguments"] if calls else message["content"]
    size = len(text) // 2000 + 1
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    if not calls:
        return [{"role": "assistant", "content": part} for part in parts]
    later = [{"tool_calls": [{"index": 0, "function": {"arguments": part}}]} for part in parts[1:]]
    function = {"name": calls[0]["function"]["name"], "arguments": parts[0]}
    return [{"tool_calls": [{**calls[0], "function": function}]}, *later]


def speak_mcp(name: str) -> None:
    """Serve one tool over stdin and stdout (MCP), which answers with a text of `TEXTS` as JSON."""
    for line in sys.stdin:
        if answer := answered(json.loads(line), name):
            print(answer, flush=True)


def answered(asked: dict[str, Any], name: str) -> str:
    """Answer a message of MCP; nothing for a notification."""
    schema: dict[str, Any] = {"type": "object"}
    if name == "pattern":
        schema["properties"] = {"word": {"type": "string", "pattern": "^(a+)+$"}}
    tool = {"name": "look", "inputSchema": schema, "annotations": {"readOnlyHint": True}}
    if "id" not in asked:
        return ""
    if asked["method"] == "tools/call":
        text = f'{{"content": [], "structuredContent": {{"a": {(TEXTS | WITHIN | ANSWERS).get(name, 1)}}}}}'
    elif asked["method"] == "initialize":
        info = {"name": "bomb", "version": "1"}
        version = asked["params"]["protocolVersion"]
        text = json.dumps({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
    elif asked["method"] == "tools/list":
        text = json.dumps({"tools": [tool]})
    else:
        error = {"code": -32601, "message": "unknown"}
        return json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error})
    return f'{{"jsonrpc": "2.0", "id": {json.dumps(asked["id"])}, "result": {text}}}'


def main() -> None:
    """Serve MCP, or HTTP on a free port of this machine, which is printed."""
    if sys.argv[1:2] == ["--mcp"]:
        speak_mcp(sys.argv[2])
        return
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bombs)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
