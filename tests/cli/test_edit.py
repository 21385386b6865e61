"""`edit` and `respond`: from a file, from stdin, in an editor, and at the prompt."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Waiting
from tests.cli.desk import Desk, refusal
from tests.cli.typist import Typist

pytestmark = pytest.mark.long

PROMPT = "or n and why: "
CHANGED = 'changed s1 params.path: "note.md" → "memo.md"'


@pytest.fixture
def editor(tmp_path: Path) -> dict[str, str]:
    """Make an editor that carries out one `s/old/new/` a line of its script, one line a call."""
    program = tmp_path / "editor.py"
    program.write_text(
        "import pathlib, sys\n"
        "script, path = (pathlib.Path(name) for name in sys.argv[1:])\n"
        "first, *rest = script.read_text().splitlines()\n"
        "_, old, new, _ = first.split('/')\n"
        "text = path.read_text('utf-8')\n"
        "(script.parent / 'seen.yaml').write_text(text, 'utf-8')\n"
        "script.write_text('\\n'.join(rest))\n"
        "text == text.replace(old, new) or path.write_text(text.replace(old, new), 'utf-8')\n",
        "utf-8",
    )
    return {"EDITOR": f"{sys.executable} {program} {tmp_path / 'script'}"}


def script(tmp_path: Path, *lines: str) -> None:
    """Tell the editor what to change, call by call."""
    (tmp_path / "script").write_text("\n".join(lines), "utf-8")


def test_a_printed_plan_changed_and_sent_through_stdin_is_asked_for_again(
    desk: Desk, waiting: Waiting
) -> None:
    printed = desk.run("edit", "--print")
    assert printed.code == 0
    done = desk.run(
        "edit", waiting.gate_id, "--file", "-", typed=printed.stdout.replace("note.md", "memo.md")
    )
    assert (done.code, done.stdout) == (3, "")
    assert CHANGED in done.stderr
    ((old, before), (new, now)) = desk.rows("SELECT gate_id, status FROM gates ORDER BY requested_at")
    assert (old, before, now) == (waiting.gate_id, "edited", "open")
    assert f"planwright approve {new}" in done.stderr
    looked = desk.run("show", waiting.thread_id)
    assert CHANGED in looked.stdout
    assert "path: memo.md" in looked.stdout
    approved = desk.run("approve", new)
    assert approved.code == 0
    assert (desk.folder / "memo.md").read_text("utf-8") == "hello"
    assert not (desk.folder / "note.md").exists()


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("steps: [{id: s1, capability: files.wirte}]", "- unknown_capability [s1]"),
        ("steps: [{id: s1, path: memo.md}]", "step has no field 'path'"),
        ("steps: [}", "cannot be read: line 1"),
        ("", "the plan is no object"),
    ],
    ids=["a finding", "a lost key", "no YAML", "nothing"],
)
def test_a_bad_edit_says_what_is_wrong_and_leaves_the_gate_open(
    text: str, cause: str, desk: Desk, waiting: Waiting
) -> None:
    done = desk.run("edit", "--file", "-", typed=text)
    assert done.code == 2
    assert cause in refusal(done)
    assert desk.rows("SELECT gate_id, status FROM gates") == [(waiting.gate_id, "open")]
    assert not (desk.folder / "note.md").exists()


def test_without_a_terminal_an_edit_needs_a_file(desk: Desk, waiting: Waiting) -> None:
    done = desk.run("edit")
    assert done.code == 2
    assert f"planwright edit {waiting.gate_id} --print > plan.yaml" in refusal(done)


def test_feedback_that_no_model_can_use_leaves_the_gate_open(desk: Desk, waiting: Waiting) -> None:
    done = desk.run("respond", waiting.gate_id, "to another file")
    assert done.code == 2
    assert "feedback needs a model" in refusal(done)
    assert desk.rows("SELECT status, reason FROM gates") == [("open", None)]
    assert not (desk.folder / "note.md").exists()


def test_an_edit_at_the_prompt_is_shown_and_asked_for_again(
    desk: Desk, tmp_path: Path, editor: dict[str, str]
) -> None:
    script(tmp_path, "s/note.md/memo.md/")
    with Typist(desk.folder, "run", "Save hello to note.md", env=editor) as typist:
        typist.read_until(PROMPT)
        typist.type("e\n")
        typist.read_until(CHANGED)
        typist.read_until(PROMPT, after=CHANGED)
        assert desk.rows("SELECT status FROM gates ORDER BY requested_at") == [("edited",), ("open",)]
        typist.type("y\n")
        code, _ = typist.finish()
    assert code == 0
    assert (desk.folder / "memo.md").read_text("utf-8") == "hello"
    assert list((desk.folder / ".planwright" / "edits").iterdir()) == []


def test_a_refused_edit_is_opened_again_with_what_is_wrong(
    desk: Desk, tmp_path: Path, waiting: Waiting, editor: dict[str, str]
) -> None:
    script(tmp_path, "s/files.write/files.wirte/", "s/files.wirte/files.write/", "s/note.md/memo.md/")
    with Typist(desk.folder, "edit", env=editor) as typist:
        code, _ = typist.finish()
    assert code == 2
    assert "your text is kept" in typist.screen
    assert desk.rows("SELECT status FROM gates") == [("open",)]
    with Typist(desk.folder, "edit", env=editor) as typist:
        code, _ = typist.finish()
    assert (code, "changes nothing" in typist.screen) == (2, True)
    seen = (tmp_path / "seen.yaml").read_text("utf-8")
    assert "#! - unknown_capability [s1]" in seen
    assert "capability: files.wirte" in seen
    with Typist(desk.folder, "edit", waiting.gate_id, env=editor) as typist:
        typist.read_until(CHANGED)
        typist.read_until(PROMPT)
        typist.type("y\n")
        code, _ = typist.finish()
    assert code == 0
    assert (desk.folder / "memo.md").read_text("utf-8") == "hello"


def test_an_editor_left_without_saving_changes_nothing(
    desk: Desk, tmp_path: Path, waiting: Waiting, editor: dict[str, str]
) -> None:
    script(tmp_path, "s/not there/x/")
    with Typist(desk.folder, "edit", env=editor) as typist:
        code, _ = typist.finish()
    assert code == 3
    assert "nothing was saved" in typist.screen
    assert desk.rows("SELECT status FROM gates") == [("open",)]
