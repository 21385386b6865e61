"""`planwright studio`: what it starts, says and registers, and that nothing of it is left behind."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_sync_client

from tests.cli.desk import Desk, environment, refusal, wait_until
from tests.patience import PATIENCE_S
from tests.server.conftest import Studio, children, free_port, interrupt, open_studio
from tests.server.conversation import APPROVE, trace

pytestmark = pytest.mark.enable_socket


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """An empty workspace."""
    return Desk(tmp_path)


@pytest.mark.long
def test_it_prints_what_to_open_and_serves_the_threads_that_wait(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in (f"/studio/?baseUrl={studio.url}", f"{studio.url} ("):
        assert text in studio.said
    assert f"thread {studio.thread}\n" in studio.said
    assert "thread monday-1: no UUID" in studio.said
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with get_sync_client(url=studio.url, api_key=studio.token) as client:
        output: Any = client.runs.wait(studio.thread, "planwright", command={"resume": APPROVE})
    assert output["status"] == "completed"
    assert trace(studio.desk, studio.thread).executions == [1, 1]


@pytest.mark.long
def test_ctrl_c_while_it_starts_leaves_nothing_behind(desk: Desk) -> None:
    with open_studio(desk, free_port()) as process:
        try:
            assert wait_until(lambda: children(process.pid) != [])
            interrupt(process)
        finally:
            process.terminate()


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


@pytest.mark.long
def test_without_the_extra_it_says_how_to_install_it(desk: Desk) -> None:
    program = "import sys; sys.modules['langgraph_api'] = None; from planwright.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, "studio"],
        cwd=desk.folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install '.[studio]'" in done.stderr


def test_the_config_that_is_installed_is_the_one_of_the_repository() -> None:
    root = Path(__file__).parents[2]
    installed, ours = root / "extras" / "web" / "langgraph.json", root / "langgraph.json"
    assert installed.read_text("utf-8") == ours.read_text("utf-8")
