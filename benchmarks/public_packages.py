"""Tools of LangChain packages and MCP servers, as they are, and the servers that start for them."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from langchain_core.tools import BaseTool

HOME = Path(".public-tools-venv").absolute()
_PYTHON, _NODE = HOME / "bin", HOME / "node_modules" / ".bin"
_AUTHOR = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")


def langchain_tools(folder: Path) -> list[BaseTool]:
    """Make tools as their guides say, of a folder, a database and a document."""
    from langchain_community.agent_toolkits import FileManagementToolkit
    from langchain_community.tools import RequestsGetTool, ShellTool
    from langchain_community.tools.json.tool import JsonGetValueTool, JsonListKeysTool, JsonSpec
    from langchain_community.tools.sql_database.tool import (
        InfoSQLDatabaseTool,
        ListSQLDatabaseTool,
        QuerySQLDatabaseTool,
    )
    from langchain_community.utilities import SQLDatabase
    from langchain_community.utilities.requests import TextRequestsWrapper
    from langchain_experimental.tools import PythonAstREPLTool, PythonREPLTool

    database = SQLDatabase.from_uri(f"sqlite:///{folder / 'shop.db'}")
    document = JsonSpec(dict_={"fruit": {"fig": 3}}, max_value_length=200)
    return [
        *FileManagementToolkit(root_dir=str(folder)).get_tools(),
        *(tool(db=database) for tool in (QuerySQLDatabaseTool, InfoSQLDatabaseTool, ListSQLDatabaseTool)),
        *(tool(spec=document) for tool in (JsonListKeysTool, JsonGetValueTool)),
        RequestsGetTool(requests_wrapper=TextRequestsWrapper(), allow_dangerous_requests=True),
        *(tool() for tool in (ShellTool, PythonREPLTool, PythonAstREPLTool)),
    ]


def write_world(folder: Path) -> None:
    """Write what these tools work on: some files, a database and a repository."""
    (folder / "plan.txt").write_text("ship on friday\n", "utf-8")
    (folder / "old").mkdir()
    for name in ("copy", "gone", "here", "edit"):
        (folder / "old" / f"{name}.txt").write_text(f"{name}\n", "utf-8")
    with closing(sqlite3.connect(folder / "shop.db")) as shop:
        shop.executescript(
            "CREATE TABLE fruit (name TEXT, price REAL); INSERT INTO fruit VALUES ('fig', 3.5)"
        )
    repository = folder / "repository"
    git = partial(subprocess.run, cwd=repository, check=True, capture_output=True)
    repository.mkdir()
    git(["git", "init", "-q", "-b", "main"])
    (repository / "plan.txt").write_text("one\n", "utf-8")
    git(["git", "add", "."])
    git(["git", *_AUTHOR, "commit", "-q", "-m", "Begin"])
    git(["git", "config", "user.name", "Ada"])
    git(["git", "config", "user.email", "ada@example.com"])
    (repository / "plan.txt").write_text("two\n", "utf-8")
    (repository / "more.txt").write_text("more\n", "utf-8")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing of requests."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder over HTTP on this machine; yields its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def servers(folder: Path) -> dict[str, dict[str, Any]]:
    """Write the entries of `.mcp.json`, as the guide of each server has them."""
    entries = {
        "time": (_PYTHON / "mcp-server-time", "--local-timezone", "UTC"),
        "git": (_PYTHON / "mcp-server-git", "--repository", folder / "repository"),
        "fetch": (_PYTHON / "mcp-server-fetch", "--allow-private-ips"),
        "sqlite": (HOME / "sqlite-server" / "bin" / "mcp-server-sqlite", "--db-path", folder / "server.db"),
        "filesystem": (_NODE / "mcp-server-filesystem", folder),
        "memory": (_NODE / "mcp-server-memory",),
        "everything": (_NODE / "mcp-server-everything",),
    }
    started: dict[str, dict[str, Any]] = {
        name: {"command": str(command), "args": [str(arg) for arg in args]}
        for name, (command, *args) in entries.items()
    }
    return {
        **started,
        "memory": {**started["memory"], "env": {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")}},
    }


def spoil_memory(folder: Path) -> None:
    """Write what no server can read where one keeps its graph: no argument makes all of its tools raise."""
    (folder / "memory.jsonl").write_text("{no json\n", "utf-8")


def write_memory(folder: Path) -> None:
    """Write the graph of that server anew."""
    lines = (
        '{"type":"entity","name":"Ada","entityType":"person","observations":["likes figs"]}',
        '{"type":"entity","name":"Bob","entityType":"person","observations":[]}',
        '{"type":"relation","from":"Bob","to":"Ada","relationType":"knows"}',
    )
    (folder / "memory.jsonl").write_text("\n".join(lines), "utf-8")


def node_versions() -> dict[str, str]:
    """Read which version of each package from npm is installed."""
    packages = HOME / "node_modules" / "@modelcontextprotocol"
    found = (json.loads(path.read_text("utf-8")) for path in packages.glob("*/package.json"))
    return {package["name"]: package["version"] for package in found}
