"""`planwright chat`: one thread, a run for every message, until Ctrl-D."""

from __future__ import annotations

from tests.cli.desk import Desk, refusal
from tests.cli.picture import picture
from tests.cli.typist import Typist


def test_every_message_is_a_run_on_one_thread(desk: Desk) -> None:
    with Typist(desk.folder, "chat") as typist:
        typist.read_until("› ")
        typist.type("What time is it?\n")
        typist.read_until("It is ")
        typist.read_until("› ")
        before = picture(typist.screen)
        assert len(before) <= 5, before
        typist.type("What tickets are open?\n")
        typist.read_until("found.")
        typist.type("\x04")
        code, _ = typist.finish()
    assert code == 0
    rows = desk.rows("SELECT thread_id, request FROM runs ORDER BY rowid")
    assert [request for _, request in rows] == ["What time is it?", "What tickets are open?"]
    assert len({thread for thread, _ in rows}) == 1


def test_without_a_terminal_there_is_no_conversation(desk: Desk) -> None:
    done = desk.run("chat")
    assert "planwright run" in refusal(done)
    assert done.code == 2
