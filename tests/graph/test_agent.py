"""An agent is opened over a folder, which is made for it, and closed by `with` or `async with`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from planwright.domain.errors import SetupError
from planwright.graph import open_agent


def test_with_closes_it_and_its_folder_is_made(tmp_path: Path) -> None:
    with open_agent(tmp_path / "new" / "workspace") as agent:
        out = agent.invoke(None, agent.call("datetime.now"))
    assert out["status"] == "completed"
    open_files = [os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    assert not [name for name in open_files if name.startswith(str(tmp_path))]


async def test_async_with_closes_it(tmp_path: Path) -> None:
    async with open_agent(tmp_path / "new") as agent:
        out = await agent.ainvoke(None, await agent.acall("datetime.now"))
    assert out["status"] == "completed"


def test_an_error_inside_comes_out(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), open_agent(tmp_path):
        raise ZeroDivisionError


def test_a_file_is_no_workspace(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SetupError, match="file is no folder"):
        open_agent(tmp_path / "file")


def test_a_server_that_is_missing_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"one": {"comand": "sh"}}}', "utf-8")
    with open_agent(tmp_path):
        (message,) = caplog.messages
    assert "the MCP server `one` has no field `comand`; did you mean `command`?" in message
