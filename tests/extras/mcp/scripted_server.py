"""An MCP server whose tools answer with JSON, or what is none, by its name in `SAID`.

`python scripted_server.py` speaks over stdin and stdout; `--http` on a port, which is printed: at `/json` it
answers with JSON, at `/events` with a stream of events, at `/zipped` with compressed JSON, at `/endless` with
an event without end.
"""

from __future__ import annotations

import gzip
import itertools
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
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
TALK = {"some talk": 5_000, "too much talk": 60_000, "talk without end": sys.maxsize}  # notifications
LONG_TALK = {"long talk": 12, "too long talk": 40}  # notifications of half a megabyte
PROGRESS = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"still at it"}}'


def talk(kind: str) -> Iterator[str]:
    """Talk before an answer."""
    yield from itertools.repeat(PROGRESS, TALK.get(kind, 0))
    yield from itertools.repeat(PROGRESS.replace("still", "still " * 80_000), LONG_TALK.get(kind, 0))


def kind_of(asked: dict[str, Any]) -> str:
    """Read which answer is asked for; "" for what is no call."""
    return str(asked["params"]["arguments"].get("kind", "a word")) if asked["method"] == "tools/call" else ""


def answer(asked: dict[str, Any]) -> str:
    """Answer a request; `say_last` puts the id last, as servers in TypeScript do."""
    if asked["method"] == "tools/call":
        said = SAID.get(kind_of(asked), '"word"')
        result = f'{{"content": [], "structuredContent": {{"said": {said}}}}}'
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
            events = itertools.chain([PROGRESS] * 3, talk(kind_of(asked)), [answer(asked)])
            self._stream(f"event: message\r\ndata: {one}\r\n\r\n".encode() for one in events)

    def _stream(self, events: Iterable[bytes]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.close_connection = True
        with suppress(ConnectionError):
            for event in events:
                self.wfile.write(event)

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
            for one in itertools.chain(talk(kind_of(asked)), [answer(asked)]):
                print(one)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
