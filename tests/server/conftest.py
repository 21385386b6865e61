"""`langgraph dev` and `planwright studio` over workspaces on 127.0.0.1, each with its token; ended by pid."""

from __future__ import annotations

import fcntl
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

from planwright.extras.demo.workspace import write_workspace
from planwright.graph.building import open_agent
from tests.cli.conftest import ask
from tests.cli.desk import Desk, command, environment, wait_until
from tests.patience import PATIENCE_S
from tests.server.conversation import Errand

ROOT = Path(__file__).parent.parent.parent
QUIET = {"LANGGRAPH_CLI_NO_ANALYTICS": "1", "LANGGRAPH_NO_VERSION_CHECK": "true"}
PAYMENTS = '''
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.declaration import capability


@capability("payments.refund", mode="destructive", effect="idempotent", tags=("refund", "payment"))
async def refund(order: str, amount: str, call: CallContext) -> str:
    """Refund an order."""
    return f"refunded {amount} for {order}"
'''

NAPS = '''
import asyncio
from pathlib import Path

from langgraph.types import interrupt

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.declaration import capability


@capability("naps.nap", mode="read_only", effect="pure", tags=("nap",))
async def nap(name: str, call: CallContext) -> str:
    """Nap until a file appears."""
    Path(__file__).with_name(f"asleep-{name}").touch()
    while not Path(__file__).with_name(name).exists():
        await asyncio.sleep(0.05)
    return f"napped until {name}"


@capability("naps.agree", mode="read_only", effect="pure", tags=("agree",))
async def agree(name: str, call: CallContext) -> str:
    """Agree to a name."""
    return f"{name} goes: {interrupt(f'May {name} go?')}"
'''

SETTINGS = """
[capabilities]
modules = ["payments", "naps"]

[server.tokens.ada]
person = "ada@example.com"
tenant = "acme"
token_env = "ADA_TOKEN"

[server.tokens.kim]
tenant = "acme"
token_env = "KIM_TOKEN"
rights = ["audit"]
"""


@dataclass(frozen=True)
class Server:
    """A server that runs, its workspace, the token of its start, and those of two people of acme."""

    url: str
    desk: Desk
    pid: int
    token: str
    ada: str
    kim: str


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(url: str) -> bool:
    """Say whether a server answers."""
    try:
        return httpx.get(f"{url}/ok", trust_env=False).is_success
    except httpx.TransportError:
        return False


@pytest.fixture(scope="session")
def served_desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A demo workspace with a capability whose every call needs a person."""
    folder = tmp_path_factory.mktemp("served") / "desk"
    write_workspace(folder)
    (folder / "payments.py").write_text(PAYMENTS, "utf-8")
    (folder / "naps.py").write_text(NAPS, "utf-8")
    (folder / "planwright.toml").write_text(SETTINGS, "utf-8")
    return Desk(folder)


@pytest.fixture(scope="session")
def server(served_desk: Desk, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`langgraph dev` with the repository's own langgraph.json, as a user starts it."""
    port, log = free_port(), tmp_path_factory.mktemp("log") / "server.log"
    ada, kim = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    dev = [sys.executable, "-P", "-m", "langgraph_cli", "dev", "--config", str(ROOT / "langgraph.json")]
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [*dev, "--no-browser", "--no-reload", "--port", str(port)],
            cwd=served_desk.folder,
            env=environment({**QUIET, "ADA_TOKEN": ada, "KIM_TOKEN": kim}),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until(lambda: answers(url) or process.poll() is not None, PATIENCE_S)
            assert process.poll() is None, log.read_text("utf-8")
            assert answers(url), log.read_text("utf-8")
            token = (served_desk.folder / ".planwright" / "server.token").read_text("utf-8")
            yield Server(url, served_desk, process.pid, token, ada, kim)
            assert "BlockingError" not in log.read_text("utf-8")
        finally:
            process.terminate()
            process.wait(PATIENCE_S)
    assert not Path(f"/proc/{process.pid}").exists()


@dataclass(frozen=True)
class Studio:
    """`planwright studio` that runs: what it printed, and the thread that waited when it started."""

    url: str
    desk: Desk
    said: str
    thread: str

    @property
    def token(self) -> str:
        """The token it printed."""
        return token_in(self.said)


def token_in(said: str) -> str:
    """Find the token in what `planwright studio` prints."""
    (line,) = [line for line in said.splitlines() if line.startswith("token")]
    return line.split()[1]


def open_studio(desk: Desk, port: int) -> subprocess.Popen[str]:
    """Start the command in a workspace, without a browser."""
    return subprocess.Popen(
        [*command(), "studio", "--no-browser", "--port", str(port)],
        cwd=desk.folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def children(pid: int) -> list[int]:
    """List the servers that a process has started; what loads may start short-lived processes, too."""
    started = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in started if b"langgraph_cli" in _words_of(child)]


def _words_of(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended
        return b""


def interrupt(process: subprocess.Popen[str]) -> None:
    """Press Ctrl-C: the command ends with code 0, and no process of its own is left."""
    (server,) = children(process.pid)
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == 0
    assert wait_until(lambda: not Path(f"/proc/{server}").exists())


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """`planwright studio` over a workspace in which two threads wait; it is ended by Ctrl-C."""
    desk, port = Desk(tmp_path_factory.mktemp("studio")), free_port()
    thread = ask(desk.folder, Errand().request).thread_id
    agent = open_agent(desk.folder)
    agent.invoke(Errand().input, {"configurable": {"thread_id": "monday-1"}})
    agent.close()
    with open_studio(desk, port) as process:
        try:
            said = read_until(process, "end")
            yield Studio(f"http://127.0.0.1:{port}", desk, said, thread)
            interrupt(process)
        finally:
            process.terminate()
    assert not answers(f"http://127.0.0.1:{port}")


def read_until(process: subprocess.Popen[str], start: str) -> str:
    """Read what is printed up to the line that begins with a word, for no longer than it may take."""
    assert process.stdout is not None
    assert process.stderr is not None
    limit = threading.Timer(PATIENCE_S, process.kill)
    limit.start()
    lines: list[str] = []
    try:
        while not lines or not lines[-1].startswith(start):
            lines.append(process.stdout.readline())
            assert lines[-1], [*lines, process.stderr.read()]
    finally:
        limit.cancel()
    return "".join(lines)


@pytest.fixture
def client(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[SyncLangGraphClient]:
    """The Python SDK, connected to the server and out of reach of any proxy."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with get_sync_client(url=server.url, api_key=server.token) as connected:
        yield connected


@pytest.fixture(scope="session")
def javascript(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the JavaScript tests, with the SDK from npm in it as its lock file pins it.

    A machine without Node.js fails here: these tests are not to be left out.
    """
    folder = Path(__file__).parent / "javascript"
    npm = shutil.which("npm")
    assert npm, "the JavaScript SDK is tested with Node.js 20 or newer: install it"
    installed = folder / "node_modules" / ".package-lock.json"
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    with (tmp_path_factory.getbasetemp().parent / "npm.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another test process may be at it
        if (
            not installed.exists()
            or installed.stat().st_mtime < (folder / "package-lock.json").stat().st_mtime
        ):
            done = subprocess.run(
                [npm, "ci", *options],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
                check=False,
            )
            assert done.returncode == 0, done.stderr
    return folder
