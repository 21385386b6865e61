"""A webhook on the loopback interface that keeps what is posted to it, and can be slow or refuse it."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, cast

PATH = "/told"


@dataclass
class Posted:
    """What was posted: its Idempotency-Key, its JSON, where to, and when, on the monotonic clock."""

    key: str
    content: dict[str, Any]
    path: str
    at_s: float


@dataclass
class NoticeReceiver:
    """Takes posts; the first statuses of `answers` are given before it says 204."""

    answers: list[int] = field(default_factory=list)
    posts: list[Posted] = field(default_factory=list)
    delay_s: float = 0
    """Seconds between keeping a post and answering it."""

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.receiver = self
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of a workspace that tells it."""
        place = f"127.0.0.1:{self._server.server_port}"
        return {"notify": {"webhook": f"http://{place}{PATH}"}, "egress": {"allow": [place]}}

    def by_event(self, event: str) -> list[Posted]:
        """List what was posted of one kind."""
        return [post for post in self.posts if post.content["event"] == event]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    receiver: NoticeReceiver

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep stderr clean: senders are killed in the middle of their requests."""


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        receiver = cast(_Server, self.server).receiver
        content = json.loads(self.rfile.read(int(self.headers["content-length"])))
        status = receiver.answers.pop(0) if receiver.answers else 204
        if status == 204:
            key = self.headers["idempotency-key"]
            receiver.posts.append(Posted(key, content, self.path, time.monotonic()))
        time.sleep(receiver.delay_s)
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing of each request."""
