"""`run`, `approve`, `reject` and `plan`: what is printed where, what is done, and the exit code."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from planwright.cli.session.ending import EXIT
from planwright.domain.results import RunStatus
from tests.cli.conftest import Waiting
from tests.cli.desk import Desk

FILES_JOB = "List the markdown files in notes, then summarize roadmap.md and save the summary to summary.md"


def test_a_question_is_answered_on_stdout_and_its_progress_shown_on_stderr(desk: Desk) -> None:
    done = desk.run("run", "What tickets are open?")
    assert done.code == 0
    open_titles = [
        title for (title,) in desk.rows("SELECT title FROM tickets WHERE status='open'", "tickets.db")
    ]
    assert len(open_titles) == 4
    assert all(title in done.stdout for title in open_titles)
    assert "tickets.list" not in done.stdout
    assert re.search(r"✓ s1 +tickets\.list", done.stderr)
    assert "not a language model" in done.stderr
    assert not any(title in done.stderr for title in open_titles)


def test_what_cannot_be_done_is_answered_with_what_can(desk: Desk) -> None:
    done = desk.run("run", "What's the weather?")
    assert done.code == 1
    assert "I cannot do that" in done.stdout
    _, *requests = done.stdout.partition("I understand requests like these:\n")[2].splitlines()
    for request in requests:
        assert desk.run("plan", request.strip()).code == 0


def test_a_job_waits_without_a_terminal_and_is_done_once_approved(desk: Desk) -> None:
    asked = desk.run("run", FILES_JOB)
    assert asked.code == 3
    assert asked.stdout == ""
    assert not (desk.folder / "summary.md").exists()
    gate = re.search(r"planwright approve (gate_\w+)", asked.stderr)
    assert gate is not None

    done = desk.run("approve", gate[1])
    assert done.code == 0
    assert "notes/roadmap.md" in done.stdout
    assert "summary.md" in done.stdout
    assert "frost alerts" in (desk.folder / "summary.md").read_text("utf-8")


def test_a_rejected_job_changes_nothing_and_tells_the_reason(desk: Desk, waiting: Waiting) -> None:
    done = desk.run("reject", waiting.gate_id, "--reason", "wrong folder")
    assert done.code == 4
    assert "wrong folder" in done.stdout
    assert not (desk.folder / "note.md").exists()
    assert desk.rows("SELECT count(*) FROM effects") == [(0,)]


def test_a_dry_run_shows_the_plan_and_opens_no_gate(desk: Desk) -> None:
    done = desk.run("plan", FILES_JOB)
    assert done.code == 0
    told = desk.run("plan", FILES_JOB, "--json").json
    assert "files.write" in [step["capability"] for step in told["plan"]["steps"]]
    assert "files.write" in done.stderr
    assert "nothing was run" in done.stdout
    assert not (desk.folder / "summary.md").exists()
    assert desk.rows("SELECT count(*) FROM gates") == [(0,)]
    assert desk.rows("SELECT count(*) FROM steps") == [(0,)]
    assert desk.rows("SELECT status FROM runs") == [("planned",)] * 2


def test_a_run_over_its_budget_names_the_limit_in_json_and_prints_nothing_else(desk: Desk) -> None:
    desk.settings("[budgets.run]\ntokens = 10\n")
    done = desk.run("run", "What tickets are open?", "--json")
    assert done.code == 6
    assert done.stderr == ""
    assert done.json["status"] == "budget_exceeded"
    assert "budgets.run.tokens" in done.json["answer"]


@pytest.mark.parametrize("status", get_args(RunStatus))
def test_every_status_has_the_exit_code_of_the_table(status: RunStatus) -> None:
    table = {
        "completed": 0,
        "completed_with_skips": 0,
        "planned": 0,
        "failed": 1,
        "running": 1,
        "paused": 2,
        "queued": 3,
        "waiting": 3,
        "needs_input": 3,
        "rejected": 4,
        "expired": 4,
        "escalated": 5,
        "budget_exceeded": 6,
        "refused": 7,
        "cancelled": 8,
        "timeout": 124,
    }
    assert EXIT[status] == table[status]


def test_a_run_at_a_limit_ends_with_6_and_goes_on_with_more_of_it(desk: Desk) -> None:
    desk.settings("[budgets.run]\ntool_calls = 0\n")
    done = desk.run("run", "What tickets are open?")
    (run_id,) = desk.rows("SELECT run_id FROM runs")[0]
    assert done.code == 6
    assert f"planwright extend {run_id} --tool-calls" in done.stderr
    assert desk.run("resume", run_id).code == 6
    given = desk.run("extend", run_id, "--tool-calls", "5", "--model-calls", "5", "--effects-per-minute", "5")
    assert (given.code, given.stdout.splitlines()[-1].split()[:3]) == (0, ["go", "on:", "planwright"])
    done = desk.run("resume", run_id)
    assert (done.code, desk.rows("SELECT status FROM runs")) == (0, [("completed",)])
