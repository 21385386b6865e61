"""What the README shows is true when somebody does it: Python, a capability, a policy, an MCP server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planwright.graph import RunContext, open_agent
from tests.conftest import McpServers
from tests.docs.pages import block, blocks
from tests.patience import PATIENCE_S

README = "README.md"
MCP = "docs/guides/mcp.md"


@pytest.mark.long
@pytest.mark.parametrize("code", sorted({block.text for block in blocks("python", mark="Command(resume")}))
def test_the_python_of_the_pages_runs_as_it_stands(code: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Approve the plan" in done.stdout
    assert "completed" in done.stdout
    assert (tmp_path / "todo.txt").read_text("utf-8") == "ship on friday"


@pytest.mark.long
def test_a_program_sees_the_log_lines_that_the_guide_sets_up(tmp_path: Path) -> None:
    command = [sys.executable, "-c", block("python", "docs/guides/watching.md", "logging")]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert "planwright.graph run_end" in done.stderr
    assert "planwright.critic" not in done.stderr
    assert "What time" not in done.stderr


@pytest.mark.long
def test_the_capability_of_the_readme_stops_at_its_own_gate(tmp_path: Path) -> None:
    (tmp_path / "payments.py").write_text(block("python", README, "@capability"), "utf-8")
    (tmp_path / "planwright.toml").write_text(block("toml", README, "[capabilities]"), "utf-8")
    command = [sys.executable, "-m", "planwright.cli.main", "run", "Refund order A-7 with amount 12.50"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 3, done.stderr
    assert "gate included" in done.stderr


def test_the_policy_of_the_readme_is_followed(tmp_path: Path) -> None:
    rules = block("toml", README, "[[rule]]")
    assert rules.count("\n") < 10
    (tmp_path / "policy.toml").write_text(rules, "utf-8")
    agent = open_agent(tmp_path)
    try:
        answers = [_planned(agent, f"Save hello to {path}") for path in ("notes/todo.md", "todo.md")]
    finally:
        agent.close()
    assert answers[0] == ("planned", "This is the plan; nothing was run.")
    assert answers[1][0] == "failed"
    assert "policy_conflict" in answers[1][1]
    assert "only notes are written (policy.toml:1)" in answers[1][1]


def _planned(agent: Any, request: str) -> tuple[str, str]:
    context = RunContext(dry_run=True, planning_mode="always")
    config = {"configurable": {"thread_id": request}}
    output = agent.invoke({"messages": [("user", request)]}, config, context=context)
    return output["status"], output["answer"]


@pytest.mark.long
def test_the_mcp_server_of_the_guide_is_plugged_in(tmp_path: Path, mcp_servers: McpServers) -> None:
    entry, settings, commands = (block(language, MCP) for language in ("json", "toml", "sh"))
    assert entry.count("\n") + settings.count("\n") + commands.count("\n") < 20
    (tmp_path / ".mcp.json").write_text(entry, "utf-8")
    (tmp_path / "planwright.toml").write_text(settings, "utf-8")
    homes = [str(Path(command).parent) for command in (sys.executable, mcp_servers.command("time"))]
    done = subprocess.run(
        ["sh", "-e", "-c", commands.replace("trust time", "trust time --yes")],
        cwd=tmp_path,
        env={**os.environ, "PATH": os.pathsep.join([*homes, os.environ["PATH"]]), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert '["mcp-server-time", "--local-timezone", "UTC"]' in done.stdout
    assert "mcp.time.tools.get_current_time.mode" in done.stdout
    assert "time.convert_time" not in done.stdout
    assert '"required": [\n      "timezone"' in done.stdout
