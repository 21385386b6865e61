"""Commands as a shell starts them: a new interpreter, and no module loaded but those a command loads.

The other tests of commands start warm (tests/forked.py), where a module that cannot be loaded, or only
after another, would not show. So each module that a command loads when it is called is started cold once.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.cli.conftest import Waiting
from tests.cli.desk import Desk

COMMANDS = Path(__file__).parents[2] / "cli"
QUESTION = "What tickets are open?"
AGENT = '[agents.reader]\ndescription = "Reads"\n'
# By module: a command that loads it first (W is a thread that waits), its exit code, some of what it prints.
STARTS: dict[str, tuple[list[str], int, str]] = {
    "drive": (["run", QUESTION], 0, "greenhouses"),
    "cancelling": (["cancel", "W"], 0, "cancelled"),
    "chat": (["chat"], 2, "planwright run"),
    "asking": (["reject", "W", "--no-input"], 4, "rejected"),
    "demo": (["demo", "--folder", "trial"], 0, "EUR 4,310.50"),
    "inspect": (["show", "W"], 0, "waiting"),
    "run_list": (["ls"], 0, "waiting"),
    "rules": (["rules", "revoke", "rule_nope"], 2, "rule_nope"),
    "doctor": (["doctor"], 0, "embedded planner"),
    "probing": (["doctor", "--probe"], 0, "the embedded planner serves"),
    "refusal": (["show", "nothing"], 2, "there is no thread or run nothing"),
    "settling": (["respond", "W", "--happened", "abcd"], 2, "error: "),
    "forking": (["checkpoints", "W"], 0, ""),
    "undoing": (["undo", "W", "--look"], 0, ""),
    "usage": (["usage"], 0, ""),
    "mcp_views": (["mcp", "ls"], 0, ""),
    "memory_views": (["memory", "ls"], 0, "nothing is remembered"),
    "memory_runs": (["memory", "reject", "prop_nope"], 2, "prop_nope"),
    "policy_views": (["policy", "check"], 0, ""),
    "delegation_views": (["delegations", "ls"], 0, "nothing is delegated"),
    "db_views": (["db", "check"], 0, "nothing is wrong"),
    "db_tables": (["db", "tables"], 0, "checkpoints.db"),
    "agent_views": (["agents", "show", "reader"], 0, "reader"),
    "agent_table": (["agents", "edit", "reader"], 2, "error: "),
}
ELSEWHERE = {"studio": "tests/server/test_studio.py"}


def loaded_on_call(path: Path) -> set[str]:
    """Name the modules of the command line that the functions of a file import."""
    functions = [
        node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.FunctionDef)
    ]
    imports = [
        node for function in functions for node in ast.walk(function) if isinstance(node, ast.ImportFrom)
    ]
    return {
        str(node.module).rpartition(".")[2]
        for node in imports
        if str(node.module).startswith("planwright.cli")
    }


def test_no_module_is_forgotten() -> None:
    top = ast.parse((COMMANDS / "main.py").read_text("utf-8")).body
    imports = [node for node in top if isinstance(node, ast.ImportFrom) and node.module == "planwright.cli"]
    files = ["main", *(name.name for node in imports for name in node.names)]
    found = [loaded_on_call(COMMANDS / f"{name}.py") for name in files]
    assert set().union(*found) == STARTS.keys() | ELSEWHERE.keys()


@pytest.mark.parametrize("module", STARTS)
def test_a_command_loads_what_it_needs(desk: Desk, waiting: Waiting, module: str) -> None:
    desk.settings(AGENT)
    args, code, told = STARTS[module]
    done = desk.start_cold(*[waiting.thread_id if arg == "W" else arg for arg in args])
    assert done.code == code, done.printed
    assert told in done.printed
    assert "Traceback" not in done.printed
