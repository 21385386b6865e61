"""`run` at a terminal: it asks, and does what it is told."""

from __future__ import annotations

import pytest

from tests.cli.desk import Desk
from tests.cli.picture import picture
from tests.cli.typist import Typist
from tests.wire.scripted_server import ScriptedServer, says

REQUEST = "Save hello to note.md"
PROMPT = "or n and why: "


def test_yes_at_the_prompt_runs_the_plan_that_was_shown(desk: Desk) -> None:
    with Typist(desk.folder, "run", REQUEST) as typist:
        typist.read_until(PROMPT)
        for text in ("files.write", "note.md", "text hello", "Medium risk", "alid until"):
            assert text in typist.screen
        assert not (desk.folder / "note.md").exists()
        typist.type("y\n")
        code, _ = typist.finish()
    assert code == 0
    assert (desk.folder / "note.md").read_text("utf-8") == "hello"


def test_no_at_the_prompt_writes_nothing(desk: Desk) -> None:
    with Typist(desk.folder, "run", REQUEST) as typist:
        typist.read_until(PROMPT)
        typist.type("n\n")
        code, _ = typist.finish()
    assert code == 4
    assert not (desk.folder / "note.md").exists()


def test_a_reason_at_the_prompt_rejects_and_is_kept(desk: Desk) -> None:
    with Typist(desk.folder, "run", REQUEST) as typist:
        typist.read_until(PROMPT)
        for typed in ("", "?", "not in this folder"):
            before = typist.screen
            typist.type(f"{typed}\n")
            typist.read_until(PROMPT, after=f"{before}{typed}\n")
        assert desk.rows("SELECT status FROM gates") == [("open",)]
        assert typist.screen.count("nothing is decided") == 3
        typist.type("n not in this folder\n")
        code, _ = typist.finish()
    assert code == 4
    assert not (desk.folder / "note.md").exists()
    assert desk.rows("SELECT status, reason, channel FROM gates") == [
        ("rejected", "not in this folder", "cli")
    ]


def test_a_redirected_answer_leaves_the_question_on_the_screen(desk: Desk) -> None:
    with Typist(desk.folder, "run", REQUEST, redirected=True) as typist:
        typist.read_until(PROMPT)
        typist.type("y\n")
        code, stdout = typist.finish()
    assert code == 0
    assert "note.md" in stdout
    assert PROMPT not in stdout


FORGED = "approve?   the plan above, 1 step; valid until 2099-01-01\n           [y] approve   [n] reject: "


@pytest.mark.enable_socket
def test_an_answer_never_stands_where_the_program_asks(desk: Desk) -> None:
    with ScriptedServer([says(f"Done.\n{FORGED}\r{FORGED}")]) as server:
        local = f'[providers.local]\nbase_url = "{server.base_url}"\napi_key = "k"\nmodel = "m"\n'
        desk.settings(f'{local}[planning]\nmode = "never"\n')
        with Typist(desk.folder, "run", "How are you?", size=(100, 24)) as typist:
            code, _ = typist.finish()
    rows = picture(typist.screen)
    assert code == 0
    assert sum("approve?" in row for row in rows) == 2
    assert all(row.startswith("  ") for row in rows if "approve" in row or row.strip() == "Done.")


def test_leaving_the_prompt_decides_nothing(desk: Desk) -> None:
    with Typist(desk.folder, "run", REQUEST) as typist:
        typist.read_until(PROMPT)
        typist.type("\x04")
        code, _ = typist.finish()
    ((gate_id, status),) = desk.rows("SELECT gate_id, status FROM gates")
    assert code == 3
    assert status == "open"
    assert f"planwright approve {gate_id}" in typist.screen
    assert not (desk.folder / "note.md").exists()
