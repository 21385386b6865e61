"""The server example: `langgraph dev` with its own langgraph.json, and both clients."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.desk import environment, wait_until
from tests.examples.conftest import Example
from tests.patience import PATIENCE_S
from tests.server.conftest import QUIET, answers, free_port

pytestmark = [pytest.mark.enable_socket, pytest.mark.long]
TICKETS = "SELECT title FROM tickets"


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Start the server as the README does; it ends with the block. Returns its address."""
    (folder / "workspace").mkdir()
    port, log = free_port(), folder / "server.log"
    dev = [sys.executable, "-P", "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload"]
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [*dev, "--port", str(port)],
            cwd=folder,
            env=environment({**QUIET, "PLANWRIGHT_WORKSPACE": "workspace"}),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until(lambda: answers(url) or process.poll() is not None)
            assert answers(url), log.read_text("utf-8")
            yield url
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


def test_a_run_with_a_gate_through_both_sdks(example: Callable[[str], Example], javascript: Path) -> None:
    server = example("server")
    with served(server.folder) as url:
        env = {"LANGGRAPH_URL": url, "NO_PROXY": "127.0.0.1"}
        rejected = server.run("client", env=env, typed="n\n")
        assert rejected.code == 0, rejected.printed
        assert "rejected: " in rejected.stdout
        approved = server.run("client", env=env, typed="y\n")
        assert approved.code == 0, approved.printed
        assert "event: approval_requested" in approved.stdout
        assert "completed: " in approved.stdout
        assert len(server.rows("workspace/tickets.db", TICKETS)) == 1
        (server.folder / "node_modules").symlink_to(javascript / "node_modules")
        done = subprocess.run(
            ["node", "client.mjs"],
            cwd=server.folder,
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert "completed: " in done.stdout
    assert len(server.rows("workspace/tickets.db", TICKETS)) == 2
