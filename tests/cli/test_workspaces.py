"""Which workspace a command is about, and how a command that is printed names it."""

from __future__ import annotations

import shlex
from pathlib import Path

from tests.cli.desk import Desk


def test_a_folder_within_a_workspace_is_one_of_its_own_and_the_one_above_is_named(desk: Desk) -> None:
    assert desk.run("run", "What tickets are open?").code == 0
    notes = Desk(desk.folder / "notes of mine")
    notes.folder.mkdir()
    for words in (("run", "What tickets are open?"), ("plan", "What tickets are open?")):
        begun = notes.run(*words)
        if words[0] == "run":
            assert f"the one above it: -w {shlex.quote(str(desk.folder))}" in begun.stderr
        else:  # it is one by now
            assert "above it" not in begun.stderr
    assert "above it" not in desk.run("run", "What tickets are open?").stderr


def test_a_printed_command_can_be_typed_whatever_the_folder_is_called(tmp_path: Path) -> None:
    folder = tmp_path / "Büro ß; ls"
    folder.mkdir()
    begun = Desk(tmp_path).run("run", "Save hello to note.txt", "-w", str(folder))
    (line,) = [line for line in begun.stderr.splitlines() if line.startswith("approve ")]
    words = shlex.split(line.partition(" ")[2])
    assert words[:2] == ["planwright", "approve"]
    assert words[-2:] == ["-w", str(folder)]
    assert Desk(tmp_path).run(*words[1:]).code == 0
    assert (folder / "note.txt").read_text("utf-8") == "hello"


def test_what_was_planned_only_is_shown_with_its_plan(desk: Desk) -> None:
    assert desk.run("plan", 'Write "x" to z.txt').code == 0
    shown = desk.run("show", "last").stdout
    assert "files.write" in shown
    assert "z.txt" in shown
    assert "This is the plan; nothing was run." in shown


def test_approving_the_last_gate_shows_what_it_approves(desk: Desk) -> None:
    desk.run("run", 'Write "x" to s.txt')
    desk.run("run", "What time is it?")
    approved = desk.run("approve", "last")
    assert approved.code == 0
    assert "s.txt" in approved.stderr.partition("approved")[0]


def test_what_waits_is_listed_for_programs_with_its_gates(desk: Desk) -> None:
    desk.run("run", 'Write "x" to s.txt')
    (row,) = desk.run("ls", "--waiting", "--json").json["runs"]
    (gate_id,) = row["gates"]
    assert desk.run("approve", gate_id).code == 0
    assert [row["gates"] for row in desk.run("ls", "--json").json["runs"]] == [[]]
