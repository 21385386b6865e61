"""A page of somebody else, in Chromium on this machine, against the server; and against one without doors.

The page tries all that a page can send. Names that rebound to this machine are played by Chromium's own
resolver rules. The server without doors shows that the page's attempts arrive where nothing keeps them out.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from typing import Any
from urllib.parse import quote

from benchmarks.intruder_stage import Stage, free_port

PAGE = Path(__file__).with_name("intruder_page.html")
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
REBOUND = "rebound.example"
PATIENCE_MS, LIMIT_S = 4_000, 240
QUIET = (
    "--headless=new",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
)
LEAST_ARRIVED = 5


def find_browser() -> str | None:
    """Find Chromium."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@dataclass
class Heard:
    """What a server of ours was sent."""

    approvals: list[str] = field(default_factory=list)
    reports: Queue[Any] = field(default_factory=Queue)


def browse(stage: Stage) -> tuple[dict[str, Any], list[str]]:
    """Show the page, at the server and at one without doors; return the numbers and what failed."""
    port = stage.netloc.split(":")[1]
    targets = [stage.url, f"http://localhost:{port}", f"http://{REBOUND}:{port}"]
    wrong: list[str] = []
    seen = show(stage, targets)
    for attempt in seen:
        if stage.canary in attempt["read"] or stage.interrupt in attempt["read"]:
            wrong.append(f"a page read {attempt['name']}: {attempt['read'][:120]}")
        if "socket said" in attempt["read"]:
            wrong.append(f"a page got through by {attempt['name']}: {attempt['read'][:120]}")
    with _server() as (open_port, heard):
        control = show(stage, [f"http://127.0.0.1:{open_port}"], heard)
    if len(heard.approvals) < LEAST_ARRIVED:
        wrong.append(f"only {len(heard.approvals)} approvals arrived where nothing keeps them out")
    if not seen or not control:
        wrong.append("the page did not report: nothing is shown by that")
    refused = sum(attempt["read"].startswith("refused") for attempt in seen)
    figures = {"attempts": len(seen), "refused to the page": refused}
    return figures | {"approvals that arrive without doors": len(heard.approvals)}, wrong


def show(stage: Stage, targets: list[str], heard: Heard | None = None) -> list[dict[str, str]]:
    """Show the page in Chromium and return what it reports of its attempts on each target."""
    with _server(heard) as (port, here), tempfile.TemporaryDirectory() as profile:
        hosted = f"http://127.0.0.1:{port}"
        job = {
            "targets": targets,
            "sockets": [target.replace("http:", "ws:") for target in targets],
            "thread": stage.thread,
            "hosted": hosted,
            "token": stage.token,
            "patience": PATIENCE_MS,
        }
        command = [
            str(find_browser()),
            *QUIET,
            "--no-sandbox",
            f"--user-data-dir={profile}",
            f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1",
            "--remote-debugging-port=0",  # stays open until it is ended
            f"{hosted}/#{quote(json.dumps(job))}",
        ]
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                report: list[dict[str, str]] = here.reports.get(timeout=LIMIT_S)
            except Empty:
                report = []
            finally:
                process.terminate()
                process.wait(30)
        return report


@contextlib.contextmanager
def _server(heard: Heard | None = None) -> Iterator[tuple[int, Heard]]:
    """Run a server without doors: it shows the page, takes its report, and counts every approval."""
    here = heard or Heard()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", free_port()), _handler(here))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1], here
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(heard: Heard) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(PAGE.read_bytes() if self.path == "/" else b"{}")

        def do_OPTIONS(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
            if self.path == "/report":
                heard.reports.put(json.loads(body))
            elif "approve" in body:
                heard.approvals.append(self.headers.get("content-type", ""))
            self._answer(b"{}")

        def _answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html" if self.path == "/" else "application/json")
            self.send_header("access-control-allow-origin", "*")
            self.send_header("access-control-allow-headers", "*")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    return Handler
