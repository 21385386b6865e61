"""What goes wrong most in a first hour: each is a few lines that name the cause and what to do next."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from planwright.extras.mcp.standing import read_standings
from planwright.extras.mcp.trust import Trust
from planwright.settings.settings import load
from tests.cli.desk import Desk, Outcome, environment
from tests.forked import Forked
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.enable_socket
MOST_LINES = 4
RUN = ("run", "What time is it?", "--no-input")
POLICY, LIST_ONE = ("policy", "check"), ("mcp", "ls", "one")
MODULE = '[capabilities]\nmodules = ["mine"]\n'
PROVIDER = '[failover]\nretries = 0\n[providers.local]\nbase_url = "http://127.0.0.1:PORT/v1"\nmodel = "m"\n'
CHANNEL = (
    '[egress]\nallow = ["127.0.0.1"]\n[channels.team]\nurl = "http://127.0.0.1:PORT/hook"\n'
    '[approval]\nplan = "never"\n[execution]\nstep_retries = 0\n'
)
READ_ONLY = """
from planwright.capabilities import capability

@capability("a.b", mode="readonly")
def b(x: str) -> str:
    "Do it."
    return x
"""
DENY = '[[rule]]\nmatch.capability = "files.write"\ndecide = "deny"\nreason = "no"\n'
NO_CEL = f'{DENY}when = "args.path =="\n[[rule]]\ndecide = "ask"\n'
DEAD = {"command": "sh", "args": ["-c", "echo out of order >&2; exit 3"]}


@dataclass(frozen=True)
class Case:
    """Files of a workspace, a command in it, and the cause and the next step that its message names.

    Its lines begin with one of `marks`. With `once` nothing else that is printed says the same.
    """

    name: str
    files: dict[str, str]
    args: tuple[str, ...]
    cause: str
    next_step: str
    marks: tuple[str, ...] = ("error: ", "  next: ")
    code: int = 2
    once: bool = True


def servers(**entries: object) -> dict[str, str]:
    """Write the servers of a workspace."""
    return {".mcp.json": json.dumps({"mcpServers": entries}, indent=1)}


def toml(text: str, **files: str) -> dict[str, str]:
    """Write the settings of a workspace, and modules beside them."""
    return {"planwright.toml": text, **{f"{name}.py": content for name, content in files.items()}}


WARNING, FAILED = ("mcp ",), ("failed ",)
MISSPELLED, EXITS = servers(one={"comand": "sh"}), servers(one=DEAD)
OPEN_END, NOWHERE = {"policy.toml": DENY}, ("files.red", "no capability files.red", "nearest: files.read")
CASES = (
    Case("module with a mistake", toml(MODULE, mine="def x(:\n"), RUN, "SyntaxError", "mine.py:1"),
    Case("module that raises", toml(MODULE, mine="\n1 / 0\n"), RUN, "ZeroDivisionError", "mine.py:2"),
    Case("no module", toml(MODULE), ("capabilities",), "No module named 'mine'", "put mine.py into"),
    Case("unknown mode", toml(MODULE, mine=READ_ONLY), RUN, "no mode 'readonly'", "take one of read_only"),
    Case("a file", {"notes": ""}, (*RUN, "-w", "notes"), "notes is a file", "name a folder: -w "),
    Case("no CEL", {"policy.toml": NO_CEL}, POLICY, "policy.toml:5: `when`: that is not CEL", "write CEL"),
    Case(
        "open end", OPEN_END, POLICY, "policy.toml:1: the last rule is no catch-all", "[[rule]], and decide"
    ),
    Case("open end, in a run", OPEN_END, RUN, "policy.toml:1: the last rule", "planwright policy check"),
    Case("nothing of that name", {}, ("capabilities", NOWHERE[0]), *NOWHERE[1:]),
    Case("nothing of that name to call", {}, ("call", NOWHERE[0]), *NOWHERE[1:]),
    Case("nothing of that name to explain", {}, ("policy", "explain", NOWHERE[0]), *NOWHERE[1:]),
    Case("no JSON", {".mcp.json": '{\n"mcpServers": {'}, RUN, ".mcp.json:2: ", "mend the JSON", WARNING, 0),
    Case("no JSON, listed", {".mcp.json": "{"}, ("mcp", "ls"), ".mcp.json:1: ", "mend the JSON"),
    Case("no JSON, examined", {".mcp.json": "{"}, ("doctor",), ".mcp.json:1: ", "mend", (*WARNING, " "), 1),
    Case("bad entry", MISSPELLED, RUN, "`one` has no field `comand`", "`command`?", WARNING, 0),
    Case("bad entry, listed", MISSPELLED, LIST_ONE, "`one` has no field", "`command`?", FAILED, 1),
    Case("server that exits", EXITS, RUN, "it wrote: out of order", "one.log", WARNING, 0),
    Case("server that exits, listed", EXITS, LIST_ONE, "it wrote: out of order", "one.log", FAILED, 1),
    Case("unknown server", EXITS, ("mcp", "ls", "on"), "lists no server 'on'", "nearest: one"),
    Case(
        "tool of a server that exits",
        EXITS,
        ("call", "one.read"),
        "one.read is of the MCP server `one`, which is not there",
        "planwright mcp ls",
        ("mcp ", "error: ", "  next: "),
    ),
    Case(
        "closed port of a provider",
        toml(PROVIDER),
        ("run", "Sum up my week", "--no-input"),
        "the connection was refused (127.0.0.1:PORT)",
        "check providers.local.base_url",
        ("paused ", "go on "),
        once=False,
    ),
    Case(
        "closed port of a channel",
        toml(CHANNEL),
        ("call", "channel.post", "--text=hello", "--no-input"),
        "127.0.0.1:PORT is unreachable: the connection was refused",
        "planwright show",
        ("Call channel.post", "status "),
        1,
        once=False,
    ),
)


@pytest.fixture(scope="module")
def closed_port() -> Iterator[str]:
    """A port of this machine that refuses connections: it is bound, and nobody listens."""
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        yield str(bound.getsockname()[1])


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A new folder, without settings."""
    return Desk(tmp_path)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_message_names_the_cause_and_what_to_do_in_a_few_lines(
    desk: Desk, closed_port: str, case: Case
) -> None:
    for name, text in case.files.items():
        (desk.folder / name).write_text(text.replace("PORT", closed_port), "utf-8")
    trust(desk.folder)
    done = desk.run(*case.args)
    assert done.code == case.code, done.printed
    cause = case.cause.replace("PORT", closed_port)
    check(done, case.marks, cause, case.next_step)
    assert done.printed.count(cause) == 1 or not case.once, done.printed


def test_a_full_disk_says_to_free_space_and_to_run_it_again(desk: Desk) -> None:
    with Forked("tests.cli.small_files", *RUN, folder=desk.folder, env=environment()) as process:
        done = Outcome(process.wait(PATIENCE_S), process.stdout, process.stderr)
    assert done.code == 2
    check(
        done,
        ("error: ", "  next: "),
        "there is no space left for ",
        "free space; nothing is lost; then run it again",
    )
    assert "planwright resume" not in done.printed
    assert desk.run(*RUN).code == 0


def trust(folder: Path) -> None:
    """Trust the servers of a workspace that can be started."""
    if (folder / ".mcp.json").exists() and (folder / ".mcp.json").read_text("utf-8").endswith("}"):
        settings = load(folder)
        for standing in read_standings(settings):
            if standing.state == "untrusted":
                Trust(settings.workspace).give(standing.server, standing.files, "ada")


def check(done: Outcome, marks: tuple[str, ...], cause: str, next_step: str) -> None:
    """Find the message among what was printed, and see that it is short, and whole in one place."""
    lines = [line for line in done.printed.splitlines() if line.startswith(marks)]
    assert 1 <= len(lines) <= MOST_LINES, done.printed
    assert cause in "\n".join(lines)
    assert next_step in "\n".join(lines)
    assert "Traceback" not in done.printed
