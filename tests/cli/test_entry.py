"""The process of a command: Ctrl-C while it loads, and output that nothing can take."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import pytest

from tests.cli.desk import Desk, environment
from tests.patience import PATIENCE_S

COMMAND = [sys.executable, "-P", "-m", "planwright"]
FULL = Path("/dev/full")


STOPPED_WHILE_IT_LOADS = """
import os, signal, sys

class Stop:
    def find_spec(self, name, path, target=None):
        if name == "planwright.cli.main":
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Stop())
from planwright.__main__ import main
main()
"""


def run(
    desk: Desk,
    *command: str,
    out: IO[str] | int = subprocess.PIPE,
    coding: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command in a workspace, with its output wherever that is to go."""
    return subprocess.run(
        command,
        cwd=desk.folder,
        env=environment(coding),
        stdout=out,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",  # of progress in another encoding
        timeout=PATIENCE_S,
        check=False,
    )


def test_ctrl_c_while_the_program_loads_is_no_traceback(desk: Desk) -> None:
    done = run(desk, sys.executable, "-P", "-c", STOPPED_WHILE_IT_LOADS)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_an_interrupt_in_code_from_a_string_ends_as_any_other(desk: Desk) -> None:
    """As in a library that is imported while a command runs, and makes a dataclass or a named tuple."""
    desk.settings('[capabilities]\nmodules = ["desk_tools"]\n')
    (desk.folder / "desk_tools.py").write_text("exec('raise KeyboardInterrupt')\n")
    assert run(desk, *COMMAND, "capabilities").returncode == 130


@pytest.mark.long
@pytest.mark.skipif(not FULL.exists(), reason="a device that is always full is of Linux")
@pytest.mark.parametrize("words", [["capabilities"], ["ls", "--json"], ["--help"]], ids=str)
def test_output_without_room_is_two_lines_on_stderr(desk: Desk, words: list[str]) -> None:
    assert desk.run("run", "What tickets are open?").code == 0
    with FULL.open("w") as full:
        done = run(desk, *COMMAND, *words, out=full)
    assert done.returncode == 74
    cause, next_step = done.stderr.splitlines()
    assert cause == "error: the output cannot be written: No space left on device"
    assert "planwright ls" in next_step


def test_a_reader_that_leaves_early_is_no_error(desk: Desk) -> None:
    piped = run(desk, "sh", "-c", '"$@" | true', "sh", *COMMAND, "capabilities")
    assert (piped.stdout, piped.stderr) == ("", "")


@pytest.mark.long
@pytest.mark.parametrize(
    ("closed", "code", "words"),
    [
        ("<&-", 3, ["run", "Save hello to n1.md"]),
        (">&-", 0, ["run", "What tickets are open?"]),
        ("<&- 2>&-", 0, ["run", "What tickets are open?"]),
        ("<&- >&- 2>&-", 0, ["ls"]),
    ],
    ids=str,
)
def test_what_the_shell_has_closed_is_as_dev_null(
    desk: Desk, closed: str, code: int, words: list[str]
) -> None:
    done = run(desk, "sh", "-c", f'"$@" {closed}', "sh", *COMMAND, *words)
    assert "Traceback" not in done.stderr
    assert done.returncode == code


@pytest.mark.long
@pytest.mark.parametrize(
    "coding",
    [{"PYTHONIOENCODING": "latin-1"}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
)
def test_a_character_that_the_output_lacks_is_spelled_as_in_json(desk: Desk, coding: dict[str, str]) -> None:
    (desk.folder / "plain.txt").write_text("a – b 🙂", encoding="utf-8")
    answered = run(desk, *COMMAND, "run", "Read plain.txt", coding=coding)
    assert (answered.returncode, "Traceback" in answered.stderr) == (0, False)
    assert r"a \u2013 b \ud83d\ude42" in answered.stdout
    shown = run(desk, *COMMAND, "show", "last", "--json", coding=coding)
    assert "a – b 🙂" in json.loads(shown.stdout)["answer"]
