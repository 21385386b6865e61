"""`planwright demo`: the main job, and what it leaves in mailbox, ticket database and webhook."""

from __future__ import annotations

import time
from pathlib import Path

from planwright.extras.demo.workspace import write_workspace
from tests.cli.desk import Desk, refusal
from tests.cli.typist import Typist


def test_the_demo_runs_by_itself_without_a_terminal(desk: Desk) -> None:
    done = desk.run("demo", "--folder", "trial")
    assert done.code == 0
    assert "EUR 4,310.50" in done.stdout
    trial = Desk(desk.folder / "trial")
    newest = "SELECT title, amount FROM tickets ORDER BY id DESC LIMIT 1"
    assert trial.rows(newest, "tickets.db") == [("Invoice from Acme", "EUR 4,310.50")]
    (first, key), (second, again) = trial.rows("SELECT status, idempotency_key FROM requests", "webhook.db")
    assert (first, second) == (503, 200)
    assert key == again
    assert len(key) == 64
    ((posted,),) = trial.rows("SELECT text FROM messages", "webhook.db")
    assert "EUR 4,310.50" in posted
    assert trial.rows("SELECT kind, decided_by, status FROM gates") == [("plan", "demo", "approved")]


def test_the_amount_is_read_before_it_asks_and_stands_on_its_one_card(desk: Desk) -> None:
    write_workspace(desk.folder / "trial")
    trial = Desk(desk.folder / "trial")
    job = "Search my emails for the invoice from Acme, then create a ticket with the amount"
    assert trial.run("run", job, "--no-input").code == 3
    (plan,) = trial.rows("SELECT shown FROM gates")
    assert '"amount":"EUR 4,310.50"' in plan[0]
    done = trial.run("approve", "--no-input")
    assert done.code == 0
    assert "EUR 4,310.50" in done.stderr
    newest = "SELECT amount FROM tickets ORDER BY id DESC LIMIT 1"
    assert trial.rows(newest, "tickets.db") == [("EUR 4,310.50",)]


def test_the_amount_is_what_the_mail_says_when_somebody_edits_it(desk: Desk) -> None:
    folder = desk.folder / "trial"
    write_workspace(folder)
    edit(folder, "INV-2026-1187.20261112@acme.example", "4,310.50", "7,777.77")
    done = desk.run("demo", "--folder", "trial")
    assert done.code == 0
    amount = Desk(folder).rows("SELECT amount FROM tickets ORDER BY id DESC LIMIT 1", "tickets.db")
    assert amount == [("EUR 7,777.77",)]


def test_a_demo_that_was_interrupted_says_that_its_webhook_has_ended(desk: Desk) -> None:
    with Typist(desk.folder, "demo", "--folder", "trial") as typist:
        typist.read_until("or n and why:")
        time.sleep(0.5)  # a signal between the prompt and `input` is not seen before something is typed
        typist.interrupt()
        code, _ = typist.finish()
    assert code == 130
    assert "begin anew: planwright demo --folder trial" in typist.screen
    assert "outside" not in typist.screen


def test_the_demo_leaves_a_folder_alone_that_is_not_its_own(desk: Desk) -> None:
    (desk.folder / "mine").mkdir()
    (desk.folder / "mine" / "thesis.txt").write_text("years of work", encoding="utf-8")
    done = desk.run("demo", "--folder", "mine")
    assert done.code == 2
    assert "mine" in refusal(done)
    assert [path.name for path in (desk.folder / "mine").iterdir()] == ["thesis.txt"]


def edit(folder: Path, message_id: str, old: str, new: str) -> None:
    """Change a message in the maildir as somebody with an editor would."""
    for path in (folder / "mail").glob("*/*"):
        text = path.read_text("utf-8")
        if message_id.lower() in text.lower() and "From: Acme" in text:
            assert old in text
            path.write_text(text.replace(old, new), encoding="utf-8")
            return
    raise AssertionError(f"there is no message {message_id}")
