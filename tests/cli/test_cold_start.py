"""Commands as a shell starts them: no module of ours is loaded but those a command loads.

The other tests of commands start warm (tests/forked.py), where a module that cannot be loaded, or only
after another, would not show. So each module that a command loads when it is called is loaded first once,
in a process that has nothing but libraries (tests/cli/first_loads.py), and two in a new interpreter.
"""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from planwright.domain.plugins import plugins
from tests.cli import first_loads
from tests.cli.conftest import Waiting
from tests.cli.desk import Desk, environment
from tests.patience import PATIENCE_S

COMMANDS = Path(__file__).parents[2] / "cli"
GROUPS = ("planwright.cli.commands", "planwright.extras.")
QUESTION = "What tickets are open?"
AGENT = '[agents.reader]\ndescription = "Reads"\n'
# By module: a command that loads it first (W is a thread that waits), its exit code, some of what it prints.
STARTS: dict[str, tuple[list[str], int, str]] = {
    "drive": (["run", QUESTION], 0, "greenhouses"),
    "cancelling": (["cancel", "W"], 0, "cancelled"),
    "chat": (["chat"], 2, "planwright run"),
    "asking": (["reject", "W", "--no-input"], 4, "rejected"),
    "demo_command": (["demo", "--folder", "trial"], 0, "EUR 4,310.50"),
    "run_views": (["show", "W"], 0, "waiting"),
    "run_list": (["ls"], 0, "waiting"),
    "doctor": (["doctor"], 0, "embedded planner"),
    "probing": (["doctor", "--probe"], 0, "the embedded planner serves"),
    "refusal": (["show", "nothing"], 2, "there is no thread or run nothing"),
    "settling": (["respond", "W", "--happened", "abcd"], 2, "error: "),
    "forking": (["checkpoints", "W"], 0, ""),
    "undoing": (["undo", "W", "--look"], 0, ""),
    "usage_views": (["usage"], 0, ""),
    "mcp_views": (["mcp", "ls"], 0, ""),
    "memory_views": (["memory", "ls"], 0, "nothing is remembered"),
    "memory_runs": (["memory", "reject", "prop_nope"], 2, "prop_nope"),
    "policy_views": (["policy", "check"], 0, ""),
    "delegation_views": (["delegations", "ls"], 0, "nothing is delegated"),
    "db_views": (["db", "check"], 0, "nothing is wrong"),
    "accepting": (["db", "accept"], 0, "lacks nothing"),
    "db_tables": (["db", "tables"], 0, "planwright.db"),
    "chain_views": (["audit", "verify"], 0, "no findings"),
    "evaluation_views": (["eval"], 0, "runs"),
    "tuning_views": (["tune"], 0, "runs"),
    "regression": (["eval", "run"], 2, "there are no cases yet"),
    "replay_views": (["replay", "W"], 0, "the run has not ended"),
    "agent_views": (["agents", "show", "reader"], 0, "reader"),
    "new_workspace": (["init", "fresh"], 0, "words.count"),
    "trust_views": (["trust"], 0, "nothing that is not trusted"),
    "settings_views": (["config"], 0, "planning.mode"),
    "allow_rules": (["rules", "ls"], 0, "No call is always allowed"),
    "calling": (["call", "files.raed"], 2, "nearest: files.read"),
    "approving": (["approve", "--all", "--capability", "files.*"], 3, "1 not decided"),
    "session_views": (["sessions", "ls"], 0, "no sessions"),
    "background": (["sessions", "resume", "W"], 2, "was not begun in the background"),
    "agent_table": (["agents", "edit", "reader"], 2, "error: "),
}
ELSEWHERE = {
    "demo_command": "tests/cli/test_demo.py",
    "serving": "tests/extras/worker/test_worker.py",
    "studio": "tests/server/test_studio.py",
    "web_command": "tests/extras/web/browser/test_browser.py",
}


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
        if str(node.module).startswith(("planwright.cli", "planwright.extras"))
    }


def test_no_module_is_forgotten() -> None:
    top = ast.parse((COMMANDS / "main.py").read_text("utf-8")).body
    groups = [
        node for node in top if isinstance(node, ast.ImportFrom) and str(node.module).startswith(GROUPS)
    ]
    files = [COMMANDS / "main.py"]
    files += [
        path
        for node in groups
        for name in node.names
        if (path := COMMANDS.parent.joinpath(*str(node.module).split(".")[1:], f"{name.name}.py")).is_file()
    ]
    modules = {point.module for point in plugins("commands").values()}
    files += [COMMANDS.parent.joinpath(*module.split(".")[1:]).with_suffix(".py") for module in modules]
    found = [loaded_on_call(path) for path in files]
    assert set().union(*found) == STARTS.keys() | ELSEWHERE.keys()


def spelled(module: str, waiting: Waiting) -> list[str]:
    return [waiting.thread_id if arg == "W" else arg for arg in STARTS[module][0]]


@pytest.mark.long
def test_each_command_loads_what_it_needs(desk: Desk, waiting: Waiting, tmp_path: Path) -> None:
    desk.settings(AGENT)
    asked = {
        module: [str(shutil.copytree(desk.folder, tmp_path / module)), *spelled(module, waiting)]
        for module in STARTS
    }
    played = subprocess.run(
        [sys.executable, "-P", first_loads.__file__],
        env=environment(),
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert played.returncode == 0, played.stderr
    told = json.loads(played.stdout)
    wrong = {
        " ".join(STARTS[module][0]): (code, printed)
        for module, (code, printed) in told.items()
        if code != STARTS[module][1] or STARTS[module][2] not in printed or "Traceback" in printed
    }
    assert wrong == {}
    assert told.keys() == STARTS.keys()


@pytest.mark.long
@pytest.mark.parametrize("module", ["drive", "asking"])
def test_a_new_interpreter_plays_a_command(desk: Desk, waiting: Waiting, module: str) -> None:
    _, code, told = STARTS[module]
    done = desk.start_cold(*spelled(module, waiting))
    assert done.code == code, done.printed
    assert told in done.printed
    assert "Traceback" not in done.printed


HEAVY = {"numpy", "sqlite_utils", "langsmith", "langgraph", "langchain_core", "openai", "markdown_it"}
LISTED = """import atexit, sys
atexit.register(lambda: print('loaded', *{name.partition('.')[0] for name in sys.modules}))
"""


@pytest.mark.parametrize("command", ["ls", "show", "events"])
def test_looking_at_records_loads_little(desk: Desk, waiting: Waiting, command: str) -> None:
    args = [command, *([] if command == "ls" else [waiting.thread_id]), "-w", str(desk.folder)]
    code = f"{LISTED}sys.argv = ['planwright', *{args}]; from planwright.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.rpartition("loaded ")[2].split())
    assert "rich" in loaded
    assert loaded & HEAVY == set()


@pytest.mark.parametrize("command", ["studio", "web"])
def test_a_command_says_which_extra_it_lacks(tmp_path: Path, command: str) -> None:
    code = f"""
import sys
sys.modules["starlette"] = None
sys.argv = ["planwright", {command!r}, "--no-browser"]
from planwright.cli.main import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert f"pip install '.[{command}]'" in done.stderr
    assert "Traceback" not in done.stderr
