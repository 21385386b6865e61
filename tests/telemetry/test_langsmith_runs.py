"""LangSmith over HTTP: nothing arrives where the settings are off, and no secret where they are on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import zstandard

from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.enable_socket, pytest.mark.long]

CANARY = "canary-51e2c0d7a9"
# A run whose request, arguments, result and answer hold a secret; then something beside it, that is no run.
PROGRAM = f"""
import json, sys
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers.langchain import wait_for_all_tracers
from planwright.capabilities import capability
from planwright.graph import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.settings.settings import load

@capability("trial.tell", trusted_result=True, mode="read_only")
def tell(name: str) -> str:
    "Tell a secret."
    return "{CANARY}"

plan = dict(goal="Tell {CANARY}", steps=[dict(id="s1", capability="trial.tell", params=dict(name="n"))])
model = ScriptedModel(replies=[json.dumps(plan), "It is {CANARY}"])
settings = load(sys.argv[1], planning=dict(mode="always"), secrets=dict(env=["DEPLOY_TOKEN"]))
with build_graph(settings, model=model, capabilities=[tell]) as agent:
    config = dict(configurable=dict(thread_id="t"))
    for chunk in agent.stream(dict(messages=[("user", "Tell me {CANARY}")]), config):
        RunnableLambda(lambda _: "beside", name="between_chunks").invoke("beside")
    agent.update_state(config, dict(answer="{CANARY}"), as_node="respond")
RunnableLambda(lambda _: "beside", name="beside_the_run").invoke("beside")
wait_for_all_tracers()
"""


BATCHES = {
    "use_multipart_endpoint": True,
    "scale_up_qsize_trigger": 1000,
    "scale_up_nthreads_limit": 4,
    "scale_down_nempty_trigger": 4,
    "size_limit": 100,
    "size_limit_bytes": 1_000_000,
}

FLAGS = {"zstd_compression_enabled": True}


class Collector(ThreadingHTTPServer):
    """A LangSmith that takes everything and keeps the bodies, unpacked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taker)
        self.bodies: list[str] = []

    @property
    def text(self) -> str:
        return "\n".join(self.bodies)


class _Taker(BaseHTTPRequestHandler):
    server: Collector

    def do_GET(self) -> None:
        self._answer({"version": "0.10.0", "batch_ingest_config": BATCHES, "instance_flags": FLAGS})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.server.bodies.append(_unpacked(body, self.headers.get("content-encoding", "")))
        self._answer({})

    do_PATCH = do_POST

    def _answer(self, content: object) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


def _unpacked(body: bytes, coding: str) -> str:
    if coding == "zstd":
        body = zstandard.ZstdDecompressor().decompressobj().decompress(body)
    elif coding:
        body = zlib.decompress(body, zlib.MAX_WBITS | 32)
    return body.decode("utf-8", "replace")


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def play(folder: Path, collector: Collector, langsmith: str) -> None:
    """Run the program where the environment says that everything is to be sent."""
    asks = {"LANGSMITH_TRACING": "true", "LANGCHAIN_TRACING_V2": "true", "LANGSMITH_API_KEY": "key-1234"}
    endpoint = {"LANGSMITH_ENDPOINT": f"http://127.0.0.1:{collector.server_address[1]}"}
    own = {"DEPLOY_TOKEN": CANARY, "PLANWRIGHT_TRACING__LANGSMITH": langsmith}
    subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder)],
        env={**os.environ, **asks, **endpoint, **own},
        timeout=PATIENCE_S,
        check=True,
    )


def test_nothing_of_a_run_is_sent_where_the_settings_are_off(tmp_path: Path, collector: Collector) -> None:
    play(tmp_path, collector, "false")
    assert "beside_the_run" in collector.text  # so the environment was heard, and the server reached
    assert "between_chunks" in collector.text
    for name in ("planwright", "trial.tell", "session_event", "ScriptedModel", CANARY):
        assert name not in collector.text


def test_a_run_is_sent_without_its_secrets_where_they_are_on(tmp_path: Path, collector: Collector) -> None:
    play(tmp_path, collector, "true")
    for name in ("session_event", "ScriptedModel", "trial.tell", "[REDACTED DEPLOY_TOKEN]"):
        assert name in collector.text
    assert CANARY not in collector.text
