"""The script for cron: what it says for each end, with the real command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.desk import environment
from tests.examples.conftest import EXAMPLES, Example
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.long
LINE = re.compile(r"^ +([\d |]+)\)", re.MULTILINE)


def monday(cron: Example, *request: str) -> tuple[int, str]:
    """Run the script. Returns its exit code, and the line it prints."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["./monday.sh", *request],
        cwd=cron.folder,
        env=environment({"PATH": path}),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.returncode, done.stdout.strip()


def test_a_job_waits_for_a_person_and_is_done_once_approved(example: Callable[[str], Example]) -> None:
    cron = example("cron")
    code, line = monday(cron)
    assert code == 3
    assert line.startswith("waits: planwright show ")
    gate = line.split()[-1]
    assert cron.desk.run("approve", gate).code == 0
    code, line = monday(cron, "What tickets are open?")
    assert code == 0
    assert line.startswith("done: ")
    assert "backups" in line


def test_a_mistake_in_the_settings_is_named(example: Callable[[str], Example]) -> None:
    cron = example("cron")
    cron.desk.settings("[budgets.run]\ntokens = 'many'\n")
    code, line = monday(cron, "What tickets are open?")
    assert (code, line) == (2, "command, settings or store: see the message above, or planwright doctor")


def test_a_request_that_cannot_be_done_is_failed(example: Callable[[str], Example]) -> None:
    code, line = monday(example("cron"), "Book a flight to Oslo")
    assert code == 1, line
    assert line.startswith("failed: planwright show ")


def test_script_and_table_name_the_exit_codes_of_the_guide() -> None:
    guide = (EXAMPLES.parent / "docs" / "guides" / "terminal.md").read_text("utf-8")
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", guide, re.MULTILINE)}
    script = (EXAMPLES / "cron" / "monday.sh").read_text("utf-8")
    handled = {int(code) for codes in LINE.findall(script) for code in codes.split(" | ")}
    table = (EXAMPLES / "cron" / "README.md").read_text("utf-8")
    told = {
        int(code)
        for row in re.findall(r"^\| ([\d, ]+)", table, re.MULTILINE)
        for code in re.findall(r"\d+", row)
    }
    assert handled >= documented
    assert told == documented
