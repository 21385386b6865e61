"""Folders of tests in memory, hypothesis without limits of time, real MCP servers as `mcp_servers` pins them.

The servers are installed beside the repository's own environment, never into it, and kept until `make clean`.
"""

from __future__ import annotations

import fcntl
import gc
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from planwright.extras.mcp.servers import start_servers
from planwright.extras.mcp.standing import read_standings
from planwright.extras.mcp.tools import Tool
from planwright.extras.mcp.trust import Trust
from planwright.settings.settings import load
from planwright.store.folder_trust import trust_below
from tests.forked import preload
from tests.patience import PATIENCE_S

pytest_plugins = ["tests.sampling", "tests.on_postgres"]

ROOT = Path(__file__).parent.parent
PINS = ROOT / "tests" / "mcp_servers"
INSTALLED = ROOT / ".mcp-servers"
BIN = {"current": ("mcp-server-time", "mcp-server-git"), "before_mcp_2": ("mcp-server-sqlite",)}

LISTED: dict[str, Sequence[Tool]] = {}
"""The tools of servers that were plugged in, by what their entries say."""

# No test fails for being slow. Loaded here, before any test builds settings of its own on it.
hypothesis_settings.register_profile("any speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("any speed")

MEMORY = Path("/dev/shm")
ROOM = 4 << 30  # bytes that have to be free there: a run leaves about a quarter of a gigabyte


def pytest_configure(config: pytest.Config) -> None:
    """Keep the folders of tests in memory where there is room: no test ends the machine, only processes.

    What is collected stays, and is not looked through for garbage: a sixth of the CPU time of collecting.
    """
    gc.disable()
    if not config.option.basetemp and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_collection_finish() -> None:
    """Leave collected tests out of what the garbage collector looks through, and let it look less often.

    Each is 7 % of the CPU time.
    """
    preload()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()


@dataclass(frozen=True)
class McpServers:
    """Where the servers are installed."""

    folder: Path

    def command(self, name: str) -> str:
        """Find the program of a server by its short name, such as `time` or `filesystem`."""
        program = f"mcp-server-{name}"
        home = next((home for home, programs in BIN.items() if program in programs), None)
        found = self.folder / home / "bin" if home else self.folder / "node_modules" / ".bin"
        return str(found / program)

    def entry(self, name: str, *args: str, **more: Any) -> dict[str, Any]:
        """Write the entry that starts a server."""
        return {"command": self.command(name), "args": list(args), **more}

    def plug(
        self, folder: Path, servers: dict[str, Any], *, trusted: bool = True, starts: bool = True
    ) -> None:
        """Write the `.mcp.json` of a workspace and, unless it is to be untrusted, trust all in it.

        Each server may take its time to start, unless the settings of the workspace name it already. One
        that `starts` is started for its tools, once in a test process: they are trusted, too.
        """
        (folder / ".mcp.json").write_text(json.dumps({"mcpServers": servers}, indent=1), "utf-8")
        toml = folder / "planwright.toml"
        settled = toml.read_text("utf-8") if toml.exists() else ""
        for name in servers:
            if f"[mcp.{name}]" not in settled:
                settled += f"\n[mcp.{name}]\nstart_timeout_s = {PATIENCE_S}\n"
        toml.write_text(settled, "utf-8")
        if trusted:
            trust_servers(folder, start=starts, known=LISTED)


def trust_servers(
    folder: Path, *, start: bool = True, known: dict[str, Sequence[Tool]] | None = None
) -> None:
    """Trust the servers of a workspace and, unless they are not to `start`, the tools that they list.

    Those whose tools are `known` by what their entries say are not started.
    """
    settings, known = load(folder), {} if known is None else known
    trust, standings = Trust(settings.workspace), read_standings(settings)
    for standing in standings:
        trust.give(standing.server, standing.files, "ada")
    if start:
        keys = {each.name: f"{each.server.entry!r} {each.files}" for each in standings}
        unknown = {name for name, key in keys.items() if key not in known}
        with closing(start_servers(settings, unknown)) as started:
            known |= {keys[each.name]: each.tools_now for each in started.standings if each.tools_now}
        for standing in standings:
            listed = known.get(keys[standing.name], ())
            trust.give(standing.server, standing.files, "ada", listed)


def processes(word: str) -> list[int]:
    """List the processes that this one started and whose command line has a word, the newest last."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            parent = folder.joinpath("stat").read_text("utf-8").rpartition(")")[2].split()[1]
            command = folder.joinpath("cmdline").read_text("utf-8")
        except (OSError, IndexError):
            continue
        if folder.name.isdigit() and int(parent) == os.getpid() and word in command:
            found.append(int(folder.name))
    return sorted(found)


def bytes_read(word: str) -> dict[int, int]:
    """Count what each process that `processes` lists has read by now (proc(5), rchar), in bytes."""
    counts = {}
    for pid in processes(word):
        with suppress(OSError):  # it ends in this moment
            rows = dict(row.split(": ") for row in Path(f"/proc/{pid}/io").read_text("utf-8").splitlines())
            counts[pid] = int(rows["rchar"])
    return counts


def one_has_read(word: str, least: int, before: dict[int, int]) -> bool:
    """Say whether one of these processes has read more than so many bytes since; others may have ended."""
    now = bytes_read(word)
    return any(now.get(pid, 0) > read + least for pid, read in before.items())


@pytest.fixture(scope="session", autouse=True)
def own_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what is trusted apart from that of the person at this machine, and trust what tests write.

    They say so as a person does who writes all there is in a folder: `planwright trust --below`. Tests of
    trust itself have a machine of their own.
    """
    before = {name: os.environ.get(name) for name in ("XDG_STATE_HOME", "TMPDIR")}
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))
    os.environ["TMPDIR"] = tempfile.tempdir = str(tmp_path_factory.mktemp("temporary"))
    trust_below(tmp_path_factory.getbasetemp())
    yield
    for name, value in before.items():
        os.environ.pop(name)
        if value is not None:
            os.environ[name] = value
    tempfile.tempdir = None


@pytest.fixture
def other_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which nobody has trusted anything: the folder where it keeps what is trusted."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "machine"))
    return tmp_path / "machine" / "planwright"


@pytest.fixture(scope="session")
def mcp_servers() -> McpServers:
    """The servers, installed anew when their pins have changed.

    A machine without Node.js fails here: these tests are not to be left out.
    """
    npm = shutil.which("npm")
    assert npm, "MCP servers are tested with Node.js 20 or newer: install it"
    pins = [PINS / "package.json", PINS / "package-lock.json", *(PINS / f"{name}.txt" for name in BIN)]
    state = hashlib.sha256(b"".join(path.read_bytes() for path in pins)).hexdigest()
    INSTALLED.mkdir(exist_ok=True)
    with (INSTALLED / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another test process may be at it
        stamp = INSTALLED / "state"
        if not stamp.exists() or stamp.read_text("utf-8") != state:
            for path in pins[:2]:
                shutil.copy(path, INSTALLED)
            _run(npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
            for name in BIN:
                _install(name)
            stamp.write_text(state, "utf-8")
    return McpServers(INSTALLED)


def _install(name: str) -> None:
    """Install what one file pins into an environment of its own."""
    python, pins = str(INSTALLED / name / "bin" / "python"), str(PINS / f"{name}.txt")
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    if uv:
        _run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, name)
        _run(uv, "pip", "install", "--quiet", "--python", python, "--require-hashes", "-r", pins)
    else:
        _run(sys.executable, "-m", "venv", "--clear", name)
        _run(python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", pins)


def _run(*command: str) -> None:
    done = subprocess.run(
        command, cwd=INSTALLED, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
