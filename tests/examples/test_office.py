"""The office example: questions, a plan, a person's answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.examples.conftest import Example

pytestmark = pytest.mark.long

Copy = Callable[[str], Example]


def test_an_approved_job_leaves_a_ticket_and_a_summary(example: Copy) -> None:
    office = example("office")
    done = office.run("office", typed="y\ny\n")  # the plan, and the ticket with its amount
    assert done.code == 0, done.stderr
    assert "Stand-up" in done.stdout
    assert "5 steps, risk Medium" in done.stdout
    assert "completed: " in done.stdout
    assert office.rows("workspace/tickets.db", "SELECT amount FROM tickets") == [("EUR 4,310.50",)]
    assert "invoice 2026-117" in (office.folder / "workspace" / "summary.md").read_text("utf-8")


def test_a_rejected_job_changes_nothing(example: Copy) -> None:
    office = example("office")
    done = office.run("office", typed="n\n")
    assert done.code == 0, done.stderr
    assert "rejected: " in done.stdout
    assert sorted(path.name for path in (office.folder / "workspace").iterdir()) == [
        ".planwright",
        "calendar",
        "mail",
    ]
