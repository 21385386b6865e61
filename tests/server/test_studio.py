"""`planwright studio`: what it starts, says and registers, and that nothing of it is left behind."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_sync_client

from planwright.graph.agent import open_agent
from tests.cli.conftest import ask
from tests.cli.desk import Desk, command, environment, refusal, wait_until
from tests.server.conftest import START_S, answers, free_port
from tests.server.conversation import APPROVE, Errand, trace

pytestmark = pytest.mark.enable_socket
STOP_S = 30


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """An empty workspace."""
    return Desk(tmp_path)


@contextmanager
def studio(desk: Desk, port: int) -> Iterator[subprocess.Popen[str]]:
    """Run the command for the length of a block, without a browser."""
    with subprocess.Popen(
        [*command(), "studio", "--no-browser", "--port", str(port)],
        cwd=desk.folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def read_until(process: subprocess.Popen[str], start: str) -> list[str]:
    """Read what is printed up to the line that begins with a word, for no longer than it may take."""
    assert process.stdout is not None
    limit = threading.Timer(START_S, process.kill)
    limit.start()
    lines: list[str] = []
    try:
        while not lines or not lines[-1].startswith(start):
            lines.append(process.stdout.readline())
            assert lines[-1], [*lines, process.stderr and process.stderr.read()]
    finally:
        limit.cancel()
    return lines


def children(pid: int) -> list[int]:
    """List the processes that a process has started."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def begin_on(desk: Desk, thread: str) -> None:
    """Begin an errand on a thread of a given name; it stops at its gate."""
    agent = open_agent(desk.folder)
    try:
        agent.invoke(Errand().input, {"configurable": {"thread_id": thread}})
    finally:
        agent.close()


def test_waiting_threads_are_registered_or_pointed_out_and_everything_ends_with_ctrl_c(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    errand, port = Errand(), free_port()
    url = f"http://127.0.0.1:{port}"
    thread = ask(desk.folder, errand.request).thread_id
    begin_on(desk, "monday-1")
    with studio(desk, port) as process:
        said = "".join(read_until(process, "end"))
        (server,) = children(process.pid)
        with get_sync_client(url=url, api_key=None) as client:
            output: Any = client.runs.wait(thread, "planwright", command={"resume": APPROVE})
        process.send_signal(signal.SIGINT)
        assert process.wait(STOP_S) == 0
    for text in (
        f"/studio/?baseUrl={url}",
        f"{url} (",
        f"{url}/docs",
        f"thread {thread}\n",
        "thread monday-1: no UUID",
    ):
        assert text in said
    assert output["status"] == "completed"
    assert trace(desk, thread).executions == [1, 1]
    assert wait_until(lambda: not Path(f"/proc/{server}").exists())
    assert not answers(url)


def test_a_port_in_use_is_refused(desk: Desk) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = refusal(desk.run("studio", "--no-browser", "--port", str(port)))
    assert f"port {port} cannot be used" in said


def test_a_broken_workspace_is_refused_before_anything_starts(desk: Desk) -> None:
    desk.settings('[capabilities]\nmodules = ["nowhere"]\n')
    assert "cannot import nowhere" in refusal(desk.run("studio", "--no-browser"))
    assert not (desk.folder / ".planwright").exists()


def test_without_the_extra_it_says_how_to_install_it(desk: Desk) -> None:
    program = "import sys; sys.modules['langgraph_api'] = None; from planwright.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, "studio"],
        cwd=desk.folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "planwright[studio]" in done.stderr


def test_the_config_that_is_installed_is_the_one_of_the_repository() -> None:
    root = Path(__file__).parent.parent.parent
    assert (root / "cli" / "langgraph.json").read_text("utf-8") == (root / "langgraph.json").read_text(
        "utf-8"
    )
