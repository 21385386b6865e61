"""A workspace whose runs wait for a person, and `planwright studio` over it: what intruders are after."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from planwright.graph.building import open_agent

GRAPH = "planwright"
START_S, STOP_S, SETTLE_S, ANSWER_S = 300, 120, 120, 120
STRANGER = """
[server.tokens.stranger]
tenant = "elsewhere"
token_env = "STRANGER_TOKEN"
"""
RECORDS = (
    "SELECT run_id, thread_id, tenant, status, answer, cancelled_by FROM runs WHERE tenant = 'default'",
    "SELECT gate_id, status, decided_by, channel, shown_hash FROM gates WHERE tenant = 'default'",
    "SELECT run_id, seq, type FROM journal WHERE tenant = 'default'",
    "SELECT count(*) FROM effects WHERE tenant = 'default'",
)


@dataclass(frozen=True)
class Stage:
    """The server, what opens it, and what it must not give away."""

    url: str
    folder: Path
    token: str
    stranger: str
    thread: str  # waits; the server knows it
    hidden: str  # waits; only the store knows it
    run: str
    assistant: str
    interrupt: str
    canary: str

    @property
    def netloc(self) -> str:
        """Where the server listens."""
        return self.url.removeprefix("http://")

    @property
    def values(self) -> dict[str, str]:
        """What the parameters of routes are filled with."""
        ids = {"thread_id": self.thread, "run_id": self.run, "assistant_id": self.assistant}
        return {**ids, "graph_id": GRAPH, "checkpoint_id": str(uuid.uuid4()), "cron_id": str(uuid.uuid4())}

    def client(self, token: str = "") -> httpx.Client:
        """Connect anew for each request, with a token or without one.

        A connection that is kept is closed by a slow server after 5 s, sometimes under the next request.
        """
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        limits = httpx.Limits(max_keepalive_connections=0)
        return httpx.Client(
            base_url=self.url, headers=headers, trust_env=False, timeout=ANSWER_S, limits=limits
        )

    def settle(self) -> None:
        """Wait until the server works on nothing more, whoever began it."""
        until = time.monotonic() + SETTLE_S
        for token in (self.token, self.stranger):
            with self.client(token) as client:
                while client.post("/threads/search", json={"status": "busy"}).raise_for_status().json():
                    assert time.monotonic() < until, "the server does not come to rest"

    def record(self) -> list[Any]:
        """Read all that must stay as it is: what is on record, and the files of the workspace."""
        with contextlib.closing(sqlite3.connect(self.folder / ".planwright" / "planwright.db")) as database:
            rows = [database.execute(query).fetchall() for query in RECORDS]
            query = "SELECT thread_id, checkpoint_id FROM checkpoints WHERE thread_id IN (?, ?) ORDER BY 1, 2"
            rows.append(database.execute(query, (self.thread, self.hidden)).fetchall())
        return [*rows, sorted(path.name for path in self.folder.glob("*.md"))]


@contextlib.contextmanager
def open_stage(folder: Path) -> Iterator[Stage]:
    """Start `planwright studio` over a new workspace, begin two runs that wait, and end it all."""
    stranger, canary = secrets.token_urlsafe(32), f"canary-{secrets.token_hex(8)}"
    (folder / "planwright.toml").write_text(STRANGER, "utf-8")
    with _studio(folder, stranger) as (url, token):
        yield wait_for_a_person(url, folder, token, stranger, canary)


def wait_for_a_person(url: str, folder: Path, token: str, stranger: str, canary: str) -> Stage:
    """Begin a run over the server and one behind its back; both wait for an approval."""
    request = f"Save {canary} to {canary}.md"
    given = {"messages": [{"role": "user", "content": request}]}
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=url, headers=headers, trust_env=False, timeout=ANSWER_S) as client:
        thread = client.post("/threads", json={}).raise_for_status().json()["thread_id"]
        begun = client.post(f"/threads/{thread}/runs/wait", json={"assistant_id": GRAPH, "input": given})
        (asked,) = begun.raise_for_status().json()["__interrupt__"]
        run = client.get(f"/threads/{thread}/runs").raise_for_status().json()[0]["run_id"]
        found = client.post("/assistants/search", json={}).raise_for_status().json()
    hidden, agent = str(uuid.uuid4()), open_agent(folder)
    agent.invoke(given, {"configurable": {"thread_id": hidden}})
    agent.close()
    assistant = found[0]["assistant_id"]
    return Stage(url, folder, token, stranger, thread, hidden, run, assistant, asked["id"], canary)


@contextlib.contextmanager
def _studio(folder: Path, stranger: str) -> Iterator[tuple[str, str]]:
    outside = ("OPENAI_", "PLANWRIGHT_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    clean = {name: value for name, value in os.environ.items() if not name.upper().startswith(outside)}
    port = free_port()
    command = [sys.executable, "-P", "-m", "planwright.cli.main", "studio", "--no-browser"]
    with subprocess.Popen(
        [*command, "--port", str(port)],
        cwd=folder,
        env={**clean, "COLUMNS": "200", "STRANGER_TOKEN": stranger},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        limit = threading.Timer(START_S, process.kill)
        limit.start()
        try:
            assert process.stdout is not None
            said: dict[str, str] = {}
            while "end" not in said:
                line = process.stdout.readline()
                assert line, said
                name, _, rest = line.strip().partition(" ")
                said[name] = rest.strip()
            limit.cancel()
            yield f"http://127.0.0.1:{port}", said["token"]
        finally:
            limit.cancel()
            process.send_signal(signal.SIGINT)
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()


def free_port() -> int:
    """Find a port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
