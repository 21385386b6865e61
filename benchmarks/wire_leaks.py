"""Ways for a secret to come in over the wire: error bodies, words of providers, broken streams."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from benchmarks.canaries import PLAIN
from benchmarks.leak_stage import Stage
from benchmarks.leaks import ask, plan
from planwright.models.scripted import ScriptedModel

Answer = tuple[int, str, bytes]


@contextmanager
def server(*answers: Answer) -> Iterator[str]:
    """Serve answers (status, content type, body) one after another, the last one again and again."""
    left = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"] or 0))
            status, kind, body = left.pop(0) if len(left) > 1 else left[0]
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_address[1]}"
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def _json(content: object) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode()


def http_error(stage: Stage, text: str) -> None:
    """A webhook refuses, and says it in the body of its error."""
    with server((400, "text/plain; charset=utf-8", f"bad: {text}".encode())) as url:
        channels: dict[str, Any] = {
            "channels": {"team": {"url": url}},
            "egress": {"allow": [url.split("//")[1]]},
        }
        post = plan(("channel.post", {"text": "hello"}))
        stage.play(ScriptedModel(replies=[post, post, "done"]), ask(), **channels)


def _from_terminal(stage: Stage, *answers: Answer, mode: str = "always") -> None:
    """Run the command line against a provider, and listen to what it prints and shows afterwards."""
    with server(*answers) as url:
        provider = {
            "model": "m",
            "base_url": f"{url}/v1",
            "api_key": "a-key-of-no-worth",
            "idle_timeout_s": 20,
        }
        told = {"PLANWRIGHT_PROVIDERS": json.dumps({"x": provider}), "PLANWRIGHT_PLANNING__MODE": mode}
        told |= {"PLANWRIGHT_PLANNER__ATTEMPTS": "1", "NO_PROXY": "127.0.0.1"}
        _command(stage, told, "run", f"Do it with {PLAIN}", "--no-input")
    runs = _command(stage, told, "ls", "--json")
    for thread in [run["thread_id"] for run in json.loads(runs)["runs"]][:1]:
        _command(stage, told, "show", thread, "--json")
        _command(stage, told, "show", thread)
        _command(stage, told, "events", thread, "--json")


def _command(stage: Stage, told: dict[str, str], *words: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-m", "planwright.cli.main", *words, "-w", str(stage.folder)],
        env={**os.environ, **told},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    stage.hear(f"stdout of {words[0]}", ended.stdout)
    stage.hear(f"stderr of {words[0]}", ended.stderr)
    return ended.stdout


def provider_error(stage: Stage, text: str) -> None:
    """A provider refuses the request, and says it in words, in any of the fields of its error."""
    body = _json({"error": {"message": f"Bad request: {text}", "type": text, "param": text, "code": text}})
    _from_terminal(stage, (400, "application/json", body))


def stream_error(stage: Stage, text: str) -> None:
    """A provider sends an error in the middle of a stream."""
    events = [_chunk("half"), _json({"error": {"message": f"overloaded: {text}", "code": 529}})]
    _from_terminal(stage, (200, "text/event-stream", _events(events)))


def streamed_reply(stage: Stage, text: str) -> None:
    """A provider streams an answer that quotes it, in pieces of seven characters."""
    parts = [text[at : at + 7] for at in range(0, len(text), 7)]
    events = [*map(_chunk, parts), _chunk("", "stop"), b"[DONE]"]
    _from_terminal(stage, (200, "text/event-stream", _events(events)), mode="never")


def _chunk(words: str, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": words}, "finish_reason": finish}
    head = {"id": "c", "created": 1, "model": "m", "object": "chat.completion.chunk"}
    return _json({**head, "choices": [choice]})


def _events(events: list[bytes]) -> bytes:
    return b"".join(b"data: " + event + b"\n\n" for event in events)


IN_PROCESS: tuple[Callable[[Stage, str], None], ...] = (http_error,)
AT_THE_TERMINAL: tuple[Callable[[Stage, str], None], ...] = (provider_error, stream_error, streamed_reply)


def wrong_settings(folder: Path) -> None:
    """Write settings whose module breaks at import, with a value of the environment in its words."""
    (folder / "planwright.toml").write_text('[capabilities]\nmodules = ["leaking"]\n', "utf-8")
    (folder / "leaking.py").write_text(
        'import os\nraise RuntimeError("no access with " + os.environ["CANARY_PLAIN"])\n', "utf-8"
    )
