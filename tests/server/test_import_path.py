"""What lies in the workspace is data: no file there runs because the server was started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from planwright.settings.settings import state_folder
from tests.cli.desk import Desk
from tests.server.conftest import children, free_port, interrupt, open_studio, read_until, token_in

pytestmark = pytest.mark.enable_socket
# Libraries of the server try to import them, or Python itself looks for them.
PLANTED = ("h2", "a2wsgi", "json", "sitecustomize", "usercustomize", "wsproto", "watchfiles")
PLANT = "import pathlib\npathlib.Path({marker!r}).write_text('ran')\n"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A workspace full of files that somebody would like to see run."""
    folder = tmp_path / "desk"
    folder.mkdir()
    for name in PLANTED:
        plant = PLANT.format(marker=str(tmp_path / f"{name}.ran"))
        (folder / f"{name}.py").write_text(plant, "utf-8")
    return Desk(folder)


@pytest.mark.long
def test_no_file_of_the_workspace_runs(desk: Desk, tmp_path: Path) -> None:
    port = free_port()
    before = os.umask(0)
    try:
        process = open_studio(desk, port)
    finally:
        os.umask(before)
    with process:
        try:
            said = read_until(process, "end")
            (server,) = children(process.pid)
            assert _folder(server).parent == state_folder() / "server"
            headers = {"Authorization": f"Bearer {token_in(said)}"}
            read = httpx.post(
                f"http://127.0.0.1:{port}/assistants/search", json={}, headers=headers, trust_env=False
            )
            assert read.status_code == 200
            interrupt(process)
        finally:
            process.terminate()
    assert sorted(path.name for path in tmp_path.glob("*.ran")) == []
    store = desk.folder / ".planwright"
    assert [str(path) for path in (store, *store.rglob("*")) if path.stat().st_mode & 0o077] == []


def _folder(pid: int) -> Path:
    return Path(os.readlink(f"/proc/{pid}/cwd"))


def test_the_plant_would_run_where_the_workspace_is_on_the_path(desk: Desk, tmp_path: Path) -> None:
    """The control: it is the start that keeps them from running."""
    subprocess.run([sys.executable, "-c", "import a2wsgi"], cwd=desk.folder, check=True)
    assert (tmp_path / "a2wsgi.ran").exists()
