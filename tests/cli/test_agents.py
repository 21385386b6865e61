"""`--agent` and `planwright agents`: run by a profile, look at it, and change it in an editor."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.desk import Desk, refusal
from tests.cli.typist import Typist

pytestmark = pytest.mark.long

BEFORE = "# mine\n[budgets.run]\ncost = 0.5\n\n"
TABLE = """[agents.reader]
description = "Reads, and changes nothing"
planning = "always"
tools = ["files.read", "files.list", "mail.*"]
limits = { tokens = 90_000 }
"""
AFTER = "\n# the last agent\n[agents.scribe]\ninstructions = '''\n[agents.reader]\n'''\n"
FILE = BEFORE + TABLE + AFTER


@pytest.fixture
def staffed(desk: Desk) -> Desk:
    """A workspace with two agents."""
    desk.settings(FILE)
    return desk


def editor(tmp_path: Path, old: str, new: str) -> dict[str, str]:
    """Make an editor that replaces a text, and shows what it was given."""
    program = tmp_path / "editor.py"
    program.write_text(
        "import pathlib, sys\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "text = path.read_text('utf-8')\n"
        f"pathlib.Path({str(tmp_path / 'seen.toml')!r}).write_text(text, 'utf-8')\n"
        f"changed = text.replace({old!r}, {new!r})\n"
        "text == changed or path.write_text(changed, 'utf-8')\n",
        "utf-8",
    )
    return {"EDITOR": f"{sys.executable} {program}"}


def edit(desk: Desk, tmp_path: Path, old: str, new: str, agent: str = "reader") -> tuple[int, str]:
    """Edit an agent; returns the exit code and the screen."""
    with Typist(desk.folder, "agents", "edit", agent, env=editor(tmp_path, old, new)) as typist:
        code, _ = typist.finish()
    return code, typist.screen


def file(desk: Desk) -> str:
    return (desk.folder / "planwright.toml").read_bytes().decode()


def test_a_run_as_an_agent_cannot_do_what_the_agent_may_not(staffed: Desk) -> None:
    done = staffed.run("run", "Save hello to note.md", "--agent", "reader")
    assert done.code == 1
    assert "I cannot do that" in done.stdout
    assert (
        "it needs files.write, which is not available here.\nI understand requests like these:\n  "
        in done.stdout
    )
    assert "ticket" not in done.stdout
    assert "agent      reader" in done.stderr
    assert not (staffed.folder / "note.md").exists()
    ((thread,),) = staffed.rows("SELECT thread_id FROM runs")
    assert staffed.run("show", thread, "--json").json["agent"] == "reader"


def test_a_plan_as_an_agent_is_made_with_what_the_agent_may_use(staffed: Desk) -> None:
    assert staffed.run("plan", "List the files in notes", "--agent", "reader").code == 0
    assert staffed.run("plan", "Save hello to note.md", "--agent", "reader").code == 1


@pytest.mark.parametrize("command", [["run", "x"], ["plan", "x"], ["agents", "show"], ["agents", "edit"]])
def test_an_unknown_agent_is_refused_with_the_nearest(staffed: Desk, command: list[str]) -> None:
    named = [*command, "raeder"] if command[0] == "agents" else [*command, "--agent", "raeder"]
    done = staffed.run(*named)
    assert done.code == 2
    assert "there is no agent 'raeder' (nearest: reader)" in refusal(done)
    assert not any((staffed.folder / ".planwright").glob("edits/*"))


def test_agents_are_listed_and_shown_with_what_is_in_force(staffed: Desk) -> None:
    listed = staffed.run("agents", "ls")
    assert listed.code == 0
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["agent", "reader", "scribe"]
    shown = staffed.run("agents", "show", "reader", "--json").json
    assert shown["tools"] == ["files.list", "files.read", "mail.draft", "mail.search", "mail.send"]
    assert (shown["planning"], shown["from"]["planning"]) == ("always", "agents.reader.planning")
    assert (shown["limits"]["tokens"], shown["limits"]["cost"]) == (90_000, "0.5")
    assert shown["from"]["cost"] == "budgets.run.cost"
    printed = staffed.run("agents", "show", "reader").stdout
    assert "planning   always (agents.reader.planning)" in printed
    assert "tool_calls 200 (budgets.run.tool_calls)" in printed


def test_a_workspace_without_agents_says_how_to_add_one(desk: Desk) -> None:
    done = desk.run("agents", "ls")
    assert (done.code, "[agents.reader]" in done.stdout) == (0, True)


def test_an_agent_that_names_what_there_is_not_is_found_by_the_doctor(desk: Desk) -> None:
    desk.settings("[agents.reader]\ntools = ['files.raed']\n")
    done = desk.run("doctor")
    assert done.code == 1
    assert "there is no capability 'files.raed'" in done.stdout
    refused = desk.run("run", "x", "--agent", "reader")
    assert refused.code == 2
    assert "nearest: files.read" in refusal(refused)


def test_an_edited_agent_is_saved_and_the_rest_of_the_file_stays(staffed: Desk, tmp_path: Path) -> None:
    code, screen = edit(staffed, tmp_path, "always", "never")
    assert code == 0, screen
    assert "planning   never (agents.reader.planning)" in screen
    assert (tmp_path / "seen.toml").read_text("utf-8") == TABLE
    assert file(staffed) == FILE.replace("always", "never")
    assert list((staffed.folder / ".planwright" / "edits").iterdir()) == []


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        ("files.read", "files.raed", "there is no capability 'files.raed'"),
        ("planning =", "planing =", "did you mean `agents.reader.planning`?"),
        ("[agents.reader]", "[agents.writer]", "what was typed is not [agents.reader] alone"),
        ("limits =", "[planning]\nx =", "what was typed is not [agents.reader] alone"),
        ("[agents.reader]", "[agents.reader", "what was typed is not valid TOML"),
    ],
    ids=["capability", "key", "renamed", "another table", "no TOML"],
)
def test_an_edit_that_would_not_load_leaves_the_file_and_is_kept(
    staffed: Desk, tmp_path: Path, old: str, new: str, cause: str
) -> None:
    code, screen = edit(staffed, tmp_path, old, new)
    assert (code, file(staffed)) == (2, FILE)
    assert cause in screen.replace("\n", " ")
    assert "your text is kept: planwright agents edit reader" in screen
    code, screen = edit(staffed, tmp_path, new, old)
    assert (tmp_path / "seen.toml").read_text("utf-8").startswith("#! ")
    assert (code, file(staffed)) == (0, FILE)


def test_a_file_that_somebody_changed_meanwhile_is_not_overwritten(staffed: Desk, tmp_path: Path) -> None:
    env = editor(tmp_path, "always", "never")
    script = tmp_path / "editor.py"
    path = str(staffed.folder / "planwright.toml")
    script.write_text(script.read_text("utf-8") + f"open({path!r}, 'a').write('# theirs\\n')\n", "utf-8")
    with Typist(staffed.folder, "agents", "edit", "reader", env=env) as typist:
        code, _ = typist.finish()
    assert (code, file(staffed)) == (2, FILE + "# theirs\n")
    assert "was changed by somebody else meanwhile" in typist.screen


MODULE = """
from planwright.capabilities import capability

@capability("mine.one", mode="read_only", effect="pure", trusted_result=True)
def one(text: str) -> str:
    "One."
    return text
"""


def test_a_module_that_came_while_the_editor_was_open_is_not_run_nor_trusted(
    desk: Desk, tmp_path: Path, other_machine: Path
) -> None:
    desk.settings(f'{FILE}[capabilities]\nmodules = ["mine"]\n')
    module, before = desk.folder / "mine.py", file(desk)
    module.write_text(MODULE, "utf-8")
    assert desk.run("trust", "--yes").code == 0
    env = editor(tmp_path, "always", "never")
    script, came = tmp_path / "editor.py", "\n__import__('pathlib').Path('ran').touch()\n"
    script.write_text(script.read_text("utf-8") + f"open({str(module)!r}, 'a').write({came!r})\n", "utf-8")
    with Typist(desk.folder, "agents", "edit", "reader", env=env) as typist:
        code, _ = typist.finish()
    assert (code, file(desk)) == (2, before)
    assert "mine.py (runs)" in typist.screen.replace("\n", " ")
    assert not (desk.folder / "ran").exists()
    module.write_text(MODULE, "utf-8")
    code, _ = edit(desk, tmp_path, "always", "never")
    assert (code, desk.run("agents", "ls").code) == (0, 0)


def test_an_editor_left_without_saving_changes_nothing(staffed: Desk, tmp_path: Path) -> None:
    code, screen = edit(staffed, tmp_path, "not there", "x")
    assert (code, file(staffed)) == (0, FILE)
    assert "nothing was saved" in screen


def test_an_agent_that_has_no_table_of_its_own_is_left_to_its_owner(desk: Desk, tmp_path: Path) -> None:
    desk.settings("[agents]\nreader = { tools = [] }\n")
    code, screen = edit(desk, tmp_path, "a", "b")
    assert code == 2
    assert "[agents.reader] is no table of its own" in screen


def test_without_a_terminal_an_agent_is_changed_by_hand(staffed: Desk) -> None:
    done = staffed.run("agents", "edit", "reader")
    assert done.code == 2
    assert "there is no terminal for an editor" in refusal(done)


def test_a_chat_as_an_unknown_agent_does_not_begin(staffed: Desk) -> None:
    with Typist(staffed.folder, "chat", "--agent", "raeder") as typist:
        code, _ = typist.finish()
    assert (code, "nearest: reader" in typist.screen) == (2, True)
