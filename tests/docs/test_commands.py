"""Every command of all pages is one that the program knows; those of the first hour are played."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from planwright.cli.main import app
from planwright.extras.demo.workspace import write_workspace
from tests.cli.desk import Desk
from tests.docs.pages import PAGES, ROOT, blocks

# What else stands in blocks of the shell, and why it is not tried here.
OTHERS = {
    "make demo": "the demo has a test of its own; make sets up an environment",
    ". .venv/bin/activate": "tests run in that environment",
    "cd planwright-demo": "tests stand in a workspace",
    "make bench": "it takes a quarter of an hour; its parts have tests of their own",
    ".venv/bin/python -m benchmarks.bench --only turns bytes": "so does this",
    ".venv/bin/python -m benchmarks.bench --short --repeat 3": "and this",
    "pip install '.[studio]'": "installed already",
    "pip install '.[web]'": "installed already",
    "pip install '.[postgres]'": "installed already",
    "export PLANWRIGHT_DB_PASSWORD=change-me": "tests/test_compose.py reads what follows",
    "docker compose run --build --rm worker trust --yes": "it does",
    "docker compose up": "it does",
    "docker compose up --scale worker=4": "it does",
    "docker compose run --rm worker sessions ls": "it does",
    "createdb planwright": "tests/postgres_server.py makes one",
    "PLANWRIGHT_WORKSPACE=workspace langgraph dev --no-browser": "tests/examples/test_server.py starts it",
    "mkdir -p workspace": "so does that test",
    "npm install @langchain/langgraph-sdk": "installed for that test as its lock file pins it",
    'sqlite3 payments.db "SELECT status, key FROM requests"': "tests/examples/test_refund.py asks it",
    'sqlite3 payments.db "SELECT order_id, amount FROM refunds"': "so it does",
}
STARTS = ("python", "node", "./monday.sh")  # a program of an example, in its folder


def lines() -> Iterator[tuple[str, list[str]]]:
    """List the commands of the blocks of the shell, without remarks."""
    for block in blocks("sh"):
        for line in block.text.splitlines():
            if words := shlex.split(line, comments=True):
                yield block.place, words


def inline() -> Iterator[tuple[str, list[str]]]:
    """List the commands in sentences that are whole: with an argument, and nothing left out."""
    for page in PAGES:
        prose = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
        for command in re.findall(r"`(planwright [^`]*)`", prose):
            yield f"{page.relative_to(ROOT)}: {command}", shlex.split(command)


def test_every_other_line_of_the_shell_is_listed() -> None:
    others = {
        shlex.join(words)
        for place, words in lines()
        if words[0] != "planwright" and not _is_there(place, words)
    }
    assert others == {shlex.join(shlex.split(line)) for line in OTHERS}


def test_only_the_folder_of_an_example_is_there() -> None:
    assert _is_there("examples/refund/README.md", ["cd", "examples/refund"])
    assert not _is_there("README.md", ["cd", "docs"]), "as planwright-demo after make demo"


def _is_there(place: str, words: list[str]) -> bool:
    """Say whether a line goes to the folder of an example, or starts a program that is in it."""
    if words[0] == "cd":
        return words[1].startswith("examples/") and (ROOT / words[1]).is_dir()
    program = words[0] if words[0].startswith("./") else words[1]
    return words[0] in STARTS and (ROOT / place).parent.joinpath(program).is_file()


@pytest.mark.long
@pytest.mark.parametrize("source", [lines, inline])
def test_the_program_knows_every_command(source: object) -> None:
    assert callable(source)
    refused = []
    for place, words in source():
        if words[0] == "planwright" and (why := _refusal(words[1:])):
            refused.append(f"{place}: {shlex.join(words)}: {why}")
    assert refused == []


def test_a_command_that_is_not_there_is_refused() -> None:
    assert _refusal(["policy", "expound", "x"])
    assert _refusal(["run", "x", "--nonsense"])
    assert _refusal(["policy", "explain", "x", "y"])


def _refusal(words: list[str]) -> str:
    """Read a command line as the program does, and run nothing. Returns what is wrong, or an empty text."""
    command: Any = typer.main.get_command(app)
    while commands := getattr(command, "commands", None):
        name, *rest = words or [""]
        if name not in commands and command.invoke_without_command and name[:1] in ("", "-"):
            break
        words = rest
        if name not in commands:
            return f"there is no command {name!r}"
        command = commands[name]
    try:
        command.make_context("planwright", words)
    except Exception as error:  # noqa: BLE001 - which classes they are depends on the release of typer
        left_out = type(error).__name__ == "MissingParameter"  # a sentence names a command by its name alone
        return "" if left_out else str(error) or type(error).__name__
    return ""


@pytest.mark.long
def test_the_first_hour_of_the_readme(tmp_path: Path) -> None:
    write_workspace(tmp_path / "planwright-demo")
    desk = Desk(tmp_path / "planwright-demo")
    text = {shlex.join(words): words[1:] for place, words in lines() if place.startswith("README.md")}
    played = [command for command in text if command.startswith("planwright run")]
    assert len(played) == 2
    assert desk.run(*text[played[0]]).code == 0
    assert desk.run(*text[played[1]]).code == 3
    assert "gate_" in desk.run("ls", "--waiting").stdout
    assert desk.run("approve").code == 0
    assert (desk.folder / "summary.md").read_text("utf-8")
    ((thread,),) = desk.rows("SELECT thread_id FROM runs ORDER BY rowid DESC LIMIT 1")
    for line in ("show THREAD", "undo THREAD --look", "resume THREAD", "events THREAD", "checkpoints THREAD"):
        assert desk.run(*line.replace("THREAD", thread).split()).code == 0, line
    assert desk.run("doctor").code == 0


@pytest.mark.long
def test_the_commands_that_only_look(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.settings('[agents.reader]\ntools = ["files.read"]\n')
    looks = (
        *("memory proposals", "memory ls", "rules ls", "delegations ls", "db check", "agents ls"),
        *("agents show reader", "policy check", "policy explain files.write", "usage", "mcp ls"),
    )
    assert desk.run("run", "What tickets are open?").code == 0
    assert {look: desk.run(*look.split()).code for look in looks} == dict.fromkeys(looks, 0)
