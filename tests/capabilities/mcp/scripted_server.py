"""An MCP server whose tools answer with JSON, or what is none, by its name in `SAID`.

`python scripted_server.py` speaks over stdin and stdout; `--http` on a port, which is printed: at `/json` it
answers with JSON, at `/events` with a stream of events, at `/zipped` with compressed JSON, at `/endless` with
an event without end.
"""

from __future__ import annotations

import gzip
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOOLS = [
    {"name": "say", "inputSchema": {"type": "object", "properties": {"kind": {"type": "string"}}}},
    {"name": "say_last", "inputSchema": {"type": "object", "properties": {"kind": {"type": "string"}}}},
]
SAID = {
    "a word": '"word"',
    "a long text": '"' + "a" * 1_400_000 + '"',
    "commas": '"' + "[," * 500_000 + '"',
    "too long": '"' + "a" * 1_600_000 + '"',
    "far too long": '"' + "a" * 20_000_000 + '"',
    "lists": "[" + "[]," * 12_000 + "[]]",
    "numbers": "[" + "1," * 120_000 + "1]",
    "deep": "[" * 1_000 + "]" * 1_000,
    "no JSON": "nothing",
}
PROGRESS = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"still at it"}}'


def answer(asked: dict[str, Any]) -> str:
    """Answer a request; `say_last` puts the id last, as servers in TypeScript do."""
    if asked["method"] == "tools/call":
        kind = asked["params"]["arguments"].get("kind", "a word")
        result = f'{{"content": [], "structuredContent": {{"said": {SAID[kind]}}}}}'
        if asked["params"]["name"] == "say_last":
            return f'{{"result":{result},"jsonrpc":"2.0","id":{asked["id"]}}}'
    elif asked["method"] == "initialize":
        about = {"serverInfo": {"name": "scripted", "version": "1"}, "capabilities": {"tools": {}}}
        result = json.dumps({"protocolVersion": asked["params"]["protocolVersion"], **about})
    elif asked["method"] == "tools/list":
        result = json.dumps({"tools": TOOLS})
    else:
        return json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}})
    return f'{{"jsonrpc":"2.0","id":{asked["id"]},"result":{result}}}'


class Handler(BaseHTTPRequestHandler):
    """Answer the messages that are posted."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer one message; a notification with nothing."""
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "id" not in asked:
            self._send(b"", "text/plain", 202)
        elif self.path == "/json":
            self._send(answer(asked).encode(), "application/json")
        elif self.path == "/endless" and asked["method"] == "tools/call":
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            self.wfile.write(b"data: " + b"a" * 1_600_000)
            self.rfile.read()  # until the client has gone
            self.close_connection = True
        elif self.path == "/zipped":
            self._send(gzip.compress(answer(asked).encode()), "application/json", encoding="gzip")
        else:
            events = [PROGRESS] * 3 + [answer(asked)]
            self._send(
                "".join(f"event: message\r\ndata: {one}\r\n\r\n" for one in events).encode(),
                "text/event-stream",
            )

    def _send(self, body: bytes, kind: str, status: int = 200, encoding: str = "identity") -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-encoding", encoding)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except ConnectionError:
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def main() -> None:
    """Serve until stdin ends, or the process does."""
    if sys.argv[1:] == ["--http"]:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        print(server.server_port, flush=True)
        server.serve_forever()
    print("a line that is no message", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            print(answer(asked), flush=True)


if __name__ == "__main__":
    main()
