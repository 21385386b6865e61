"""`planwright run --background`, `planwright sessions` and `planwright worker`, as at a shell."""

from __future__ import annotations

import signal

from tests.cli.desk import Desk, refusal
from tests.patience import PATIENCE_S


def queue(desk: Desk, request: str = "What time is it?") -> str:
    """Queue a request, and return its thread."""
    begun = desk.run("run", "--background", request, "--json")
    assert begun.code == 0, begun.printed
    assert begun.json["status"] == "queued"
    return str(begun.json["thread_id"])


def test_a_run_in_the_background_is_listed_done_and_shown(desk: Desk) -> None:
    begun = desk.run("run", "--background", "What time is it?")
    assert begun.stdout.startswith("queued: planwright sessions watch ")
    assert "nobody takes it up yet; begin: planwright worker" in begun.stderr
    (session,) = desk.run("sessions", "ls", "--json").json["sessions"]
    assert (session["state"], session["request"]) == ("queued", "What time is it?")
    assert desk.run("worker", "--until-idle").code == 0
    shown = desk.run("sessions", "show", "last", "--json").json
    assert (shown["state"], shown["progress"]["completed"], shown["progress"]["total"]) == ("completed", 1, 1)
    assert shown["progress"]["budget_remaining"]["tool_calls"] == 199
    assert desk.run("sessions", "watch", "last").stdout == "completed: 1 of 1 steps\n"
    assert "no sessions are open" in desk.run("sessions", "ls", "--open").stdout


def test_a_session_waits_at_its_gate_and_is_approved_as_any_run(desk: Desk) -> None:
    thread = queue(desk, 'Write "ship" to todo.txt')
    assert desk.run("worker", "--until-idle").code == 0
    shown = desk.run("sessions", "show", thread)
    assert "awaiting gate" in shown.stdout
    assert "planwright approve gate_" in shown.stdout
    assert desk.run("approve", thread).code == 0
    assert (desk.folder / "todo.txt").read_text("utf-8") == "ship"
    assert desk.run("sessions", "show", thread, "--json").json["state"] == "completed"


def test_a_queued_session_is_paused_given_more_resumed_and_cancelled(desk: Desk) -> None:
    thread = queue(desk)
    assert "is paused" in desk.run("sessions", "pause", thread).stdout
    assert desk.run("worker", "--until-idle").code == 0
    assert "paused by" in desk.run("sessions", "show", thread).stdout
    given = desk.run("sessions", "extend", thread, "--tokens", "500", "--time", "60")
    assert given.stdout.endswith("may use 500 more tokens, 60 more seconds before it expires\n")
    left = desk.run("sessions", "show", thread, "--json").json["progress"]["budget_remaining"]
    assert left["tokens"] == 200_500
    assert "is queued again" in desk.run("sessions", "resume", thread).stdout
    assert desk.run("sessions", "cancel", thread).stdout.endswith(" cancelled\n")
    (session,) = desk.run("sessions", "ls", "--json").json["sessions"]
    assert session["state"] == "cancelled"


def test_what_cannot_be_asked_is_refused_with_what_can(desk: Desk) -> None:
    assert "there are no runs" in refusal(desk.run("sessions", "pause", "last"))
    thread = queue(desk)
    assert "nothing is given" in refusal(desk.run("sessions", "extend", thread))
    assert "is queued, not paused" in refusal(desk.run("sessions", "resume", thread))
    assert desk.run("run", "What tickets are open?").code == 0
    assert "was not begun in the background" in refusal(desk.run("sessions", "show", "last"))


def test_a_worker_ends_when_it_is_told_to(desk: Desk) -> None:
    with desk.begin("worker") as worker:
        thread = queue(desk)
        watched = desk.run("sessions", "watch", thread)
        assert watched.stdout.splitlines()[-1] == "completed: 1 of 1 steps"
        worker.send(signal.SIGTERM)
        assert worker.wait(PATIENCE_S) == 0
        assert "stopping: what runs is handed over" in worker.stderr
