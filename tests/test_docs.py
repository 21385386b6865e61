"""The documents say what is true: the drawn graph is the graph, and the README's Python runs."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

from planwright.graph import RunContext, open_agent
from tests.conftest import McpServers
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parent.parent


def test_the_drawn_graph_is_the_graph() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    drawing = runpy.run_path(str(ROOT / "docs" / "draw_graph.py"))["drawing"]
    assert drawing() in page, "run: make docs"


def test_the_python_of_the_readme_runs_as_it_stands(tmp_path: Path) -> None:
    block = _blocks("python")[0]
    done = subprocess.run(
        [sys.executable, "-c", block],
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


def test_the_capability_of_the_readme_stops_at_its_own_gate(tmp_path: Path) -> None:
    (tmp_path / "payments.py").write_text(_blocks("python")[1], "utf-8")
    (tmp_path / "planwright.toml").write_text(_blocks("toml")[-1], "utf-8")
    command = [sys.executable, "-m", "planwright.cli.main", "run", "Refund order A-7 with amount 12.50"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 3, done.stderr
    assert "own gate" in done.stderr


def test_the_policy_of_the_readme_is_followed(tmp_path: Path) -> None:
    (block,) = (block for block in _blocks("toml") if "[[rule]]" in block)
    assert block.count("\n") < 10
    (tmp_path / "policy.toml").write_text(block, "utf-8")
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


def test_the_mcp_server_of_the_readme_is_plugged_in(tmp_path: Path, mcp_servers: McpServers) -> None:
    (entry,), (settings,) = (
        [block for block in _blocks(kind) if mark in block]
        for kind, mark in (("json", '"time"'), ("toml", "[mcp.time]"))
    )
    (commands,) = (block for block in _blocks("sh") if "planwright mcp" in block)
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


def _blocks(language: str) -> list[str]:
    text = (ROOT / "README.md").read_text("utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
