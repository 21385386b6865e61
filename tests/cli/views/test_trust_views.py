"""`planwright trust`, and every command in a folder that nobody trusts yet."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.desk import Desk, command, environment, refusal
from tests.patience import PATIENCE_S

MODULE = """
from pathlib import Path
from planwright.capabilities import capability

Path(__file__).with_name("ran").touch()

@capability("brought.one", mode="read_only", effect="pure", trusted_result=True)
def one(text: str) -> str:
    "One."
    return text
"""
POLICY = '[[rule]]\ndecide = "allow"\n'
SETTINGS = '[capabilities]\nmodules = ["brought"]\n[audit]\ncommand = ["touch", "anchored"]\n'
COMMANDS = [
    ["doctor"],
    ["doctor", "--probe"],
    ["capabilities"],
    ["policy", "check"],
    ["policy", "explain", "files.read"],
    ["agents", "ls"],
    ["mcp", "ls"],
    ["run", "Save hello to note.md"],
    ["run", "--background", "Save hello to note.md"],
    ["run", "--json", "Save hello to note.md"],
    ["plan", "Save hello to note.md"],
    ["call", "brought.one", "--text", "x"],
    ["eval", "run"],
    ["worker"],
    ["web", "--no-browser"],
    ["ls"],
    ["config"],
    ["db", "check"],
]


@pytest.fixture
def theirs(tmp_path: Path, other_machine: Path) -> Desk:
    """A folder of a stranger, who lets all be done, and runs something of their own at each end of a run."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    for name, text in (("brought.py", MODULE), ("policy.toml", POLICY), ("planwright.toml", SETTINGS)):
        (folder / name).write_text(text, "utf-8")
    return Desk(folder)


def left(folder: Path) -> list[str]:
    """Name what lies in the folder and was not brought along."""
    brought = ("brought.py", "policy.toml", "planwright.toml")
    return sorted(path.name for path in folder.iterdir() if path.name not in brought)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_command_runs_or_makes_anything_before_it(theirs: Desk, words: list[str]) -> None:
    done = theirs.run(*words)
    assert done.code in (1, 2)
    assert "nobody trusts on this machine: capabilities.modules (runs)" in done.printed
    assert f"planwright trust -w {theirs.folder}" in done.printed
    assert left(theirs.folder) == []


def test_it_shows_what_would_count_and_asks(theirs: Desk) -> None:
    asked = theirs.run("trust")
    assert asked.code == 2
    for line in ('+ capabilities.modules = ["brought"]', '+ audit.command = ["touch", "anchored"]'):
        assert line in asked.stderr
    assert "+ policy.toml = 2 lines" in asked.stderr
    assert f"next: planwright trust {theirs.folder} --yes" in asked.stderr
    assert theirs.run("trust", "--yes").code == 0
    assert "brought.one" in theirs.run("capabilities").stdout
    assert theirs.run("call", "brought.one", "--text", "x").code == 0
    assert {"ran", "anchored"} <= set(left(theirs.folder))


def test_what_has_changed_is_shown_as_it_was_and_is(theirs: Desk) -> None:
    theirs.run("trust", "--yes")
    theirs.settings(SETTINGS.replace("anchored", "elsewhere"))
    shown = theirs.run("trust").stderr
    assert '- audit.command = ["touch", "anchored"]' in shown
    assert '+ audit.command = ["touch", "elsewhere"]' in shown
    assert "capabilities.modules" not in shown
    assert "audit.command (runs)" in refusal(theirs.run("run", "Save hello to note.md"))


def test_it_is_taken_back(theirs: Desk) -> None:
    theirs.run("trust", "--yes")
    assert "nothing is trusted any more" in theirs.run("trust", "--revoke").stdout
    assert "nobody trusts" in refusal(theirs.run("capabilities"))
    assert "nothing was trusted" in theirs.run("trust", "--revoke").stdout


def test_all_that_lies_in_a_folder_of_ones_own_counts(theirs: Desk) -> None:
    around = theirs.folder.parent
    assert "no terminal" in theirs.run("trust", str(around), "--below").stderr
    assert theirs.run("trust", str(around), "--below", "--yes").code == 0
    (theirs.folder / "brought.py").write_text(MODULE + "\n", "utf-8")
    assert theirs.run("capabilities").code == 0
    assert f"planwright trust {around} --below --revoke" in theirs.run("trust", "--revoke").stderr
    assert theirs.run("trust", str(around), "--below", "--revoke").code == 0
    assert "nobody trusts" in refusal(theirs.run("capabilities"))


def test_a_folder_that_others_write_to_is_not_trusted_whole(theirs: Desk) -> None:
    theirs.folder.parent.chmod(0o777)
    refused = theirs.run("trust", str(theirs.folder.parent), "--below", "--yes")
    theirs.folder.parent.chmod(0o700)
    assert (refused.code, "others can put files into" in refused.stderr) == (2, True)


def test_a_secret_of_the_file_is_shown_nowhere(theirs: Desk) -> None:
    theirs.settings('[providers.p]\nmodel = "m"\napi_key = "wort-1234567890"\n')
    assert "wort-" not in theirs.run("trust").printed + theirs.run("trust", "--yes").printed
    assert [path for path in theirs.folder.parent.rglob("*.json") if "wort-" in path.read_text("utf-8")] == []


def test_nobody_is_asked_about_what_planwright_has_begun(tmp_path: Path, other_machine: Path) -> None:
    desk = Desk(tmp_path)
    assert desk.run("init", "own").code == 0
    desk = Desk(tmp_path / "own")
    assert desk.run("call", "words.count", "--text", "one two").code == 0
    assert desk.run("run", "Save hello to note.txt").code == 3
    assert desk.run("approve").code == 0
    assert desk.run("doctor").code == 0
    desk = Desk(tmp_path)
    assert desk.run("demo", "--no-input").code == 0
    assert desk.run("demo", "--no-input").code == 0
    assert desk.run("ls", "-w", "planwright-demo").code == 0


@pytest.mark.parametrize(("typed", "runs"), [(b"y\n", True), (b"n\n", False), (b"\n", False)])
def test_a_person_at_the_terminal_is_asked_and_the_command_goes_on(
    theirs: Desk, typed: bytes, runs: bool
) -> None:
    shown = b"".join(at_terminal(theirs, typed, "capabilities"))
    assert b"trust this folder? [y/N]" in shown
    assert (b"brought.one" in shown) is runs
    assert (theirs.folder / "ran").exists() is runs
    assert theirs.run("capabilities").code == (0 if runs else 2)


def test_ctrl_c_at_the_question_ends_the_command_quietly(theirs: Desk) -> None:
    shown = b"".join(at_terminal(theirs, None, "capabilities"))
    assert (b"Traceback" in shown, shown.endswith(b"exit 130")) == (False, True)
    assert not (theirs.folder / "ran").exists()


def test_a_yes_that_cannot_be_kept_is_said(theirs: Desk, other_machine: Path) -> None:
    other_machine.parent.write_text("no folder", "utf-8")
    shown = b"".join(at_terminal(theirs, b"y\n", "capabilities"))
    assert (b"Traceback" in shown, b"cannot be kept" in shown) == (False, True)
    assert shown.endswith(b"exit 2")
    assert "cannot be kept" in refusal(theirs.run("trust", "--revoke"))


def at_terminal(desk: Desk, typed: bytes | None, *words: str) -> Iterator[bytes]:
    """Run a command in a terminal, and type when it asks, None for Ctrl-C; then say how it ended."""
    ours, its = pty.openpty()
    with subprocess.Popen(
        [*command(), *words], cwd=desk.folder, env=environment(), stdin=its, stdout=its, stderr=its
    ) as process:
        os.close(its)
        shown = b""
        with suppress(OSError):  # the terminal is closed with its last user
            while read := os.read(ours, 4096):
                yield read
                shown += read
                if b"[y/N]" not in shown:  # it may come in two pieces
                    continue
                shown = b""
                if typed is None:
                    process.send_signal(signal.SIGINT)
                else:
                    os.write(ours, typed)
        yield b"exit %d" % process.wait(PATIENCE_S)
    os.close(ours)
