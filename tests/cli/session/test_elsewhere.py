"""A terminal that waits for an answer hears of one that somebody gives elsewhere."""

from __future__ import annotations

import pytest

from tests.cli.desk import Desk
from tests.cli.typist import Typist

PROMPT = "reject, or n and why: "
REQUEST = 'Write "ship on friday" to note.md'


def waiting_gate(desk: Desk) -> str:
    """Name the gate that is open."""
    ((gate_id,),) = desk.rows("SELECT gate_id FROM gates WHERE status = 'open'")
    return str(gate_id)


@pytest.mark.parametrize(
    ("words", "status", "code", "written"),
    [
        (("approve",), "approved", 0, True),
        (("reject", "--reason", "not today"), "rejected", 4, False),
    ],
)
def test_a_terminal_hears_who_decided_and_ends_as_the_run_does(
    words: tuple[str, ...], status: str, code: int, written: bool, desk: Desk
) -> None:
    with Typist(desk.folder, "run", REQUEST, size=(100, 30)) as typist:
        typist.read_until(PROMPT)
        name, *more = words
        desk.run(name, waiting_gate(desk), *more)
        typist.read_until(f"{status} by ")
        ended, _ = typist.finish()
    assert (ended, (desk.folder / "note.md").exists()) == (code, written)
    assert " via cli, while this waited" in typist.screen


def test_a_run_that_is_cancelled_elsewhere_ends_here(desk: Desk) -> None:
    with Typist(desk.folder, "run", REQUEST, size=(100, 30)) as typist:
        typist.read_until(PROMPT)
        desk.run("cancel", "last")
        typist.read_until("cancelled")
        code, _ = typist.finish()
    assert (code, (desk.folder / "note.md").exists()) == (8, False)
    assert "Traceback" not in typist.screen


def test_ctrl_c_and_ctrl_d_leave_the_gate_open(desk: Desk) -> None:
    for ends in ("interrupt", "eof"):
        with Typist(desk.folder, "run", REQUEST, size=(100, 30)) as typist:
            typist.read_until(PROMPT)
            typist.interrupt() if ends == "interrupt" else typist.type("\x04")
            code, _ = typist.finish()
        assert code == (130 if ends == "interrupt" else 3)
    assert desk.rows("SELECT count(*) FROM gates WHERE status = 'open'") == [(2,)]


def test_what_is_typed_still_answers(desk: Desk) -> None:
    with Typist(desk.folder, "run", REQUEST, size=(100, 30)) as typist:
        typist.read_until(PROMPT)
        typist.type("y\n")
        code, _ = typist.finish()
    assert code == 0
    assert (desk.folder / "note.md").read_text(encoding="utf-8") == "ship on friday"
