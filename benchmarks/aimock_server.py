"""`@copilotkit/aimock` from npm, somebody else's idea of a provider: installed, started, questioned.

It is installed beside the repository's own environment, never into it, and kept until `make clean`.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PINS = Path(__file__).parent / "aimock"
INSTALLED = ROOT / ".aimock"
LIMIT_S = 300
START_S = 120
LISTENING = re.compile(r"listening on (http://\S+)")
Fixture = dict[str, Any]


@dataclass(frozen=True)
class Aimock:
    """One running server, and the key that it asks for, if it does."""

    url: str
    key: str = ""

    @property
    def base_url(self) -> str:
        """Where an OpenAI client is to be pointed at."""
        return f"{self.url}/v1"

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Call the control API and return its answer."""
        content = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        request = urllib.request.Request(f"{self.url}/__aimock/{path}", content, headers, method=method)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as reply:
            return json.load(reply)

    def play(self, rates: Mapping[str, float]) -> None:
        """Fail at these rates from now on; at none when there are none."""
        self.ask("POST", "chaos", rates)

    def journal(self) -> list[Sent]:
        """List the model calls that were made, in order."""
        return [_sent(entry) for entry in self.ask("GET", "journal?path=/chat/completions")]


@dataclass(frozen=True)
class Sent:
    """One request as the journal has it; a status of 0 stands for a connection that was cut."""

    at_ms: int
    path: str
    body: dict[str, Any]
    status: int
    fault: str
    interrupted: bool

    @property
    def number(self) -> int:
        """The number with which the last thing ends that a user said."""
        said = [message["content"] for message in self.body["messages"] if message["role"] == "user"]
        return int(str(said[-1]).rpartition(" ")[2])

    @property
    def surface(self) -> str:
        """The API it was sent to, by the path before `/chat/completions`."""
        return self.path.removesuffix("/chat/completions").strip("/")

    @property
    def answered(self) -> bool:
        """Whether a whole reply was sent."""
        return self.status == 200 and not self.fault and not self.interrupted


def _sent(entry: Mapping[str, Any]) -> Sent:
    response = entry["response"]
    return Sent(
        at_ms=entry["timestamp"],
        path=entry["path"],
        body=entry["body"] or {"messages": []},
        status=response["status"],
        fault=response.get("chaosAction", ""),
        interrupted=response.get("interrupted", False),
    )


def install() -> Path:
    """Install it, anew when its pins have changed; return its folder. Fails where there is no Node.js."""
    npm = shutil.which("npm")
    assert npm, "failover is tested with aimock from npm, on Node.js 20.15 or newer: install it"
    pins = [PINS / "package.json", PINS / "package-lock.json"]
    state = hashlib.sha256(b"".join(path.read_bytes() for path in pins)).hexdigest()
    INSTALLED.mkdir(exist_ok=True)
    with (INSTALLED / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process may be at it
        stamp = INSTALLED / "state"
        if not stamp.exists() or stamp.read_text("utf-8") != state:
            for path in pins:
                shutil.copy(path, INSTALLED)
            command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
            done = subprocess.run(
                command, cwd=INSTALLED, capture_output=True, text=True, timeout=LIMIT_S, check=False
            )
            assert done.returncode == 0, done.stderr
            stamp.write_text(state, "utf-8")
    return INSTALLED


@contextmanager
def aimock(
    fixtures: Sequence[Fixture],
    folder: Path,
    *options: str,
    seed: int = 1,
    name: str = "fixtures",
    key: str = "",
) -> Iterator[Aimock]:
    """Run a server with these fixtures, as its command line is used, until the block ends.

    It takes any key, or only the one that is given. `seed` is that of its dice, which are V8's `Math.random`.
    """
    file = folder / f"{name}.json"
    file.write_text(json.dumps({"fixtures": list(fixtures)}), "utf-8")
    llmock = str(install() / "node_modules" / ".bin" / "llmock")
    node = shutil.which("node")
    assert node, "aimock runs on Node.js 20.15 or newer: install it"
    command = [node, f"--random-seed={seed}", llmock, "--port", "0", "--fixtures", str(file)]
    command += ["--journal-max", "0", *options]
    with _running(command, {"AIMOCK_API_KEYS": key} if key else {}, folder / f"{name}.log") as url:
        yield Aimock(url, key)


@contextmanager
def _running(command: Sequence[str], variables: Mapping[str, str], log: Path) -> Iterator[str]:
    """Run a server that logs where it listens; yield that address."""
    strict = {"AIMOCK_STRICT_TURN_INDEX": "1"}  # a turn is met exactly, or not at all
    environment = {**os.environ, **strict, **variables}
    with (
        log.open("w") as output,
        subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment) as started,
    ):
        try:
            deadline = time.monotonic() + START_S
            while not (listening := LISTENING.search(log.read_text("utf-8"))):
                alive = started.poll() is None and time.monotonic() < deadline
                assert alive, f"aimock did not start: {log.read_text('utf-8')}"
                time.sleep(0.02)
            yield listening[1]
        finally:
            started.kill()
