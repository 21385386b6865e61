"""Trust covers the files of a workspace that a server's command names: one that changed is not started."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planwright.domain.errors import CapabilityUnavailable, EffectInDoubt
from planwright.extras.mcp.servers import open_servers
from planwright.extras.mcp.standing import read_standings
from planwright.extras.mcp.trust import Trust
from planwright.settings.settings import load
from tests.conftest import trust_servers
from tests.extras.mcp.test_servers import call

SERVER = """
import pathlib
from mcp.server.mcpserver import MCPServer

server = MCPServer("mine")
(pathlib.Path(__file__).parent / "{mark}").touch()

@server.tool()
def greet() -> str:
    return "{mark}"

@server.tool()
def leave() -> str:
    import os
    os._exit(1)

server.run("stdio")
"""


def plug(folder: Path, *args: str, command: str = sys.executable, **more: Any) -> None:
    entry = {"command": command, "args": list(args), **more}
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"mine": entry}}))


def state(folder: Path) -> str:
    (standing,) = read_standings(load(folder))
    return standing.state


@pytest.mark.long
def test_a_script_that_was_changed_is_not_started_until_it_is_trusted_again(tmp_path: Path) -> None:
    script = tmp_path / "tools" / "mine.py"
    script.parent.mkdir()
    script.write_text(SERVER.format(mark="first"))
    plug(tmp_path, "tools/mine.py")
    trust_servers(tmp_path, start=False)
    with closing(open_servers(load(tmp_path))) as servers:
        assert [standing.state for standing in servers.standings] == ["ready"]
    script.write_text(SERVER.format(mark="second"))
    with closing(open_servers(load(tmp_path))) as servers:
        (standing,) = servers.standings
    assert (standing.state, standing.tools) == ("untrusted", {})
    assert "or a file that its command names" in standing.cause
    assert standing.next_step.endswith("planwright mcp trust mine")
    assert sorted(path.name for path in script.parent.iterdir()) == ["first", "mine.py"]
    trust_servers(tmp_path, start=False)
    with closing(open_servers(load(tmp_path))) as servers:
        assert [standing.state for standing in servers.standings] == ["ready"]
    assert (script.parent / "second").exists()


@pytest.mark.long
async def test_a_script_that_was_changed_is_not_started_again_either(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text(SERVER.format(mark="first"))
    plug(tmp_path, "mine.py")
    trust_servers(tmp_path)
    with closing(open_servers(load(tmp_path))) as servers:
        assert "first" in str(await call(servers, "mine.greet"))
        script.write_text(SERVER.format(mark="second"))
        with pytest.raises(EffectInDoubt):
            await call(servers, "mine.leave")
        with pytest.raises(CapabilityUnavailable, match="has changed since it was trusted"):
            await call(servers, "mine.greet")
    assert not (tmp_path / "second").exists()


def change(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(path.read_text() + "\n" if path.exists() else "new")


@pytest.mark.parametrize(
    ("args", "more", "changed"),
    [
        (["mine.py"], {}, "mine.py"),
        (["./mine.py"], {}, "mine.py"),
        (["{root}/mine.py"], {}, "mine.py"),
        (["${{ROOT_OF_TEST}}/mine.py"], {}, "mine.py"),
        (["--config=conf/a.json"], {}, "conf/a.json"),
        (["-m", "served.pages"], {}, "served/pages.py"),
        (["-m", "served"], {}, "served/__main__.py"),
        (["server"], {}, "server/index.js"),
        (["server"], {}, "server/package.json"),
        (["../mine.py"], {"cwd": "server"}, "mine.py"),
        (["main.py"], {"cwd": "server"}, "server/main.py"),
        (["not-there-yet"], {}, "not-there-yet"),
    ],
)
@pytest.mark.parametrize("how", ["there before", "new"])
def test_each_way_to_name_a_file_is_seen(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    args: list[str],
    more: dict[str, str],
    changed: str,
    how: str,
) -> None:
    monkeypatch.setenv("ROOT_OF_TEST", str(tmp_path))
    for folder in ("server", "served"):
        (tmp_path / folder).mkdir()
    if how == "there before":
        change(tmp_path / changed)
    plug(tmp_path, *(arg.format(root=tmp_path) for arg in args), command="sh", **more)
    trust_servers(tmp_path, start=False)
    assert state(tmp_path) == "trusted"
    change(tmp_path / "another.py")
    assert state(tmp_path) == "trusted"
    change(tmp_path / changed)
    assert state(tmp_path) == "untrusted"


def test_a_program_of_the_workspace_is_seen_by_path_and_by_name(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "serve"
    change(program)
    program.chmod(0o755)
    for entry in ({"command": "bin/serve"}, {"command": "serve", "env": {"PATH": str(program.parent)}}):
        plug(tmp_path, **entry)
        trust_servers(tmp_path, start=False)
        assert state(tmp_path) == "trusted"
        change(program)
        assert state(tmp_path) == "untrusted"


def a_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE IF NOT EXISTS t (x)")
        db.execute("INSERT INTO t VALUES (1)")


def test_a_database_that_a_server_makes_is_none_of_its_files_before_anything_is_in_it(tmp_path: Path) -> None:
    plug(tmp_path, "data.db", command="sh")
    trust_servers(tmp_path, start=False)
    (tmp_path / "data.db").touch()
    assert state(tmp_path) == "trusted"
    a_database(tmp_path / "data.db")
    assert state(tmp_path) == "trusted"


@pytest.mark.parametrize(
    ("arg", "changed", "how"),
    [
        ("data.db", "data.db", a_database),
        ("notes", "notes/a.md", change),
        (".", "a.md", change),
        ("x" * 5000, "x", change),
    ],
    ids=["a database", "a folder of notes", "the workspace", "a long argument"],
)
def test_what_a_server_works_on_is_not_what_it_is(
    tmp_path: Path, arg: str, changed: str, how: Callable[[Path], None]
) -> None:
    (tmp_path / "notes").mkdir()
    how(tmp_path / changed)
    plug(tmp_path, arg, command="sh")
    trust_servers(tmp_path, start=False)
    how(tmp_path / changed)
    assert state(tmp_path) == "trusted"


def test_a_link_that_leads_out_is_bound_to_where_it_leads(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    workspace.mkdir()
    change(outside)
    (workspace / "python").symlink_to(outside)
    plug(workspace, "python", command="sh")
    trust_servers(workspace, start=False)
    change(outside)
    assert state(workspace) == "trusted"
    (workspace / "python").unlink()
    (workspace / "python").symlink_to("/bin/sh")
    assert state(workspace) == "untrusted"


def test_trust_from_before_is_asked_for_again_where_a_file_is_named(
    tmp_path: Path,
) -> None:
    (tmp_path / "mine.py").write_text("pass")
    for args, stands in ((["mine.py"], "untrusted"), (["-c", "true"], "trusted")):
        plug(tmp_path, *args, command="sh")
        (standing,) = read_standings(load(tmp_path))
        Trust(load(tmp_path).workspace).give(standing.server, {}, "ada")
        assert state(tmp_path) == stands
