"""MCP servers on the command line: seen, trusted, and checked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from planwright.capabilities.mcp.trust import Trust
from planwright.cli.main import app
from planwright.domain.errors import SetupError
from planwright.settings.settings import load
from tests.cli.desk import Desk, refusal
from tests.cli.typist import Typist
from tests.conftest import McpServers

Run = Callable[..., Result]


@pytest.fixture
def workspace(tmp_path: Path, mcp_servers: McpServers) -> Path:
    """A workspace with one server that nobody trusts yet."""
    entry = mcp_servers.entry("memory", env={"KEY": "${HOME}"})
    mcp_servers.plug(tmp_path, {"notes": entry}, trusted=False)
    return tmp_path


@pytest.fixture
def run(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in the workspace, in this process."""
    monkeypatch.chdir(workspace)

    def command(*args: str) -> Result:
        return CliRunner().invoke(app, list(args))

    return command


def test_an_untrusted_server_is_told_of_with_the_next_command(run: Run) -> None:
    next_step = "planwright mcp trust notes"
    listed = run("mcp", "ls")
    assert "untrusted" in listed.stdout
    assert next_step in listed.stdout
    found = run("capabilities")
    assert "notes.read_graph" not in found.stdout
    assert next_step in found.stderr
    examined = run("doctor")
    assert "notes: nobody has trusted it yet" in examined.stdout
    assert next_step in examined.stdout


def test_trust_shows_what_is_started_and_lets_it_start(run: Run, workspace: Path) -> None:
    given = run("mcp", "trust", "--yes")
    entry = json.loads((workspace / ".mcp.json").read_text("utf-8"))["mcpServers"]["notes"]
    assert json.dumps([entry["command"]]) in given.stdout
    assert f"in {workspace}" in given.stdout
    assert "env KEY ${HOME}" in given.stdout
    assert "notes.read_graph" in run("capabilities").stdout
    assert "notes: 9 tools" in run("doctor").stdout
    assert "nothing to trust" in run("mcp", "trust").stdout
    assert "trusted already" in run("mcp", "trust", "notes").stdout


def test_the_tools_of_a_server_are_listed_with_who_says_what_they_are(run: Run, workspace: Path) -> None:
    (workspace / "planwright.toml").write_text(
        '[mcp.notes]\ndeny = ["open_nodes"]\n[mcp.notes.tools.delete_entities]\nmode = "local_write"\n',
        "utf-8",
    )
    run("mcp", "trust", "--yes")
    (listed,) = json.loads(run("mcp", "ls", "notes", "--json").stdout)
    found: dict[str, Any] = {tool["tool"]: (tool["mode"], tool["mode_from"]) for tool in listed["tools"]}
    assert found["read_graph"] == ("read_only", "its hints")
    assert found["delete_relations"] == ("destructive", "its hints")
    assert found["delete_entities"] == ("local_write", "mcp.notes.tools.delete_entities.mode")
    assert "open_nodes" not in found
    assert "notes.delete_entities" in run("mcp", "ls", "notes").stdout


def test_a_changed_entry_needs_trust_again(run: Run, workspace: Path, mcp_servers: McpServers) -> None:
    run("mcp", "trust", "--yes")
    mcp_servers.plug(workspace, {"notes": mcp_servers.entry("memory", "--more")}, trusted=False)
    assert "it has changed since it was trusted" in run("mcp", "ls").stdout


def test_trust_can_be_taken_back(run: Run) -> None:
    run("mcp", "trust", "notes", "--yes")
    assert "notes is not trusted any more" in run("mcp", "revoke", "notes").stdout
    assert "untrusted" in run("mcp", "ls").stdout
    again = run("mcp", "revoke", "notes")
    assert isinstance(again.exception, SetupError)
    assert "nobody trusts a server 'notes'" in str(again.exception)


def test_without_a_terminal_nothing_is_trusted(run: Run, workspace: Path) -> None:
    refused = run("mcp", "trust", "notes").exception
    assert isinstance(refused, SetupError)
    assert refused.next_step == "planwright mcp trust notes --yes"
    assert Trust(load(workspace).store_folder).read() == {}


@pytest.mark.parametrize(("typed", "trusted"), [("y", True), ("", False)])
def test_a_person_is_asked(workspace: Path, typed: str, trusted: bool) -> None:
    with Typist(workspace, "mcp", "trust", "notes") as typist:
        typist.read_until("trust it? [y/N]")
        typist.type(f"{typed}\n")
        assert typist.finish()[0] == 0
    assert bool(Trust(load(workspace).store_folder).read()) is trusted


def test_an_unknown_server_is_refused(run: Run) -> None:
    refused = run("mcp", "trust", "nots").exception
    assert isinstance(refused, SetupError)
    assert refused.next_step == "nearest: notes"


@pytest.mark.parametrize(
    ("entry", "line", "said"),
    [
        ({"command": "sh", "args": ["${NEVER_SET_HERE}"]}, 6, "NEVER_SET_HERE, which is not set"),
        ({"command": "no-such-program"}, 4, "`no-such-program`, which is not there"),
    ],
)
def test_a_run_is_refused_where_the_file_is_wrong(
    desk: Desk, mcp_servers: McpServers, entry: dict[str, Any], line: int, said: str
) -> None:
    mcp_servers.plug(desk.folder, {"one": entry}, trusted=False)
    refused = desk.run("run", "What time is it?")
    assert refused.code == 2
    assert f"{desk.folder / '.mcp.json'}:{line}: " in refusal(refused)
    assert said in refused.stderr
    assert "enabled = false" in refused.stderr


def test_a_run_without_a_server_says_so_and_goes_on(desk: Desk, mcp_servers: McpServers) -> None:
    mcp_servers.plug(desk.folder, {"notes": mcp_servers.entry("memory")}, trusted=False)
    done = desk.run("run", "What time is it?")
    assert done.code == 0
    assert "notes is not there: nobody has trusted it yet" in done.stderr


def test_agents_may_name_tools_of_a_server_that_is_not_there(run: Run, workspace: Path) -> None:
    (workspace / "planwright.toml").write_text('[agents.keeper]\ntools = ["notes.*"]\n', "utf-8")
    assert run("agents", "ls").exit_code == 0
    (workspace / "planwright.toml").write_text('[agents.keeper]\ntools = ["note.*"]\n', "utf-8")
    assert isinstance(run("agents", "ls").exception, SetupError)


def test_a_policy_may_name_tools_of_a_server_that_is_there_or_not(run: Run, workspace: Path) -> None:
    private = (
        '[[rule]]\nmatch = { capability = ["notes.search_nodes"] }\ndecide = "deny"\nreason = "private"\n'
    )
    rule = f'{private}[[rule]]\ndecide = "ask"\n'
    (workspace / "policy.toml").write_text(rule, "utf-8")
    assert run("policy", "check").exit_code == 0
    run("mcp", "trust", "--yes")
    explained = run("policy", "explain", "notes.search_nodes", "--args", '{"query": "a"}')
    assert "private" in explained.stdout
    assert "deny" in explained.stdout
