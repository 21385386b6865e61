"""What was changed in a store behind the back of the program is found, and named."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from planwright.records.audit.sealing import latest_seal
from planwright.records.audit.verification import verify_chain
from planwright.store.audit_chain import entries, head
from tests.opened_store import opened_store

pytestmark = pytest.mark.sqlite  # its stores last longer than a test


def problems(store: sqlite3.Connection, *anchors: tuple[int, str]) -> list[str]:
    return [finding.problem for finding in verify_chain(store, anchors)[0]]


def test_a_store_as_it_was_left_verifies(store: sqlite3.Connection, run_id: str) -> None:
    findings, count = verify_chain(store, [head(store)])
    assert findings == []
    assert [entry.kind for entry in entries(store)] == ["gate", "effect", "effect", "run"]
    assert count == 4
    seal = latest_seal(store, run_id)
    assert seal is not None
    (approval,) = seal.record.approvals
    assert (approval.status, approval.channel) == ("approved", "python")
    assert seal.record.verdict is not None
    assert seal.record.versions.keys() >= {
        "prompts",
        "registry",
        "policy",
        "settings",
        "evaluators",
        "profile",
    }


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        ("UPDATE effects SET args = '{}' WHERE status = 'done'", "effects "),
        ("UPDATE gates SET decided_by = 'boss' WHERE status = 'approved'", "gates "),
        ("UPDATE steps SET result = replace(result, 'a.txt', 'b.txt')", "steps "),
        ("UPDATE plans SET plan = replace(plan, 'a.txt', 'b.txt')", "plans "),
        ("UPDATE verdicts SET reason = 'well done'", "verdicts "),
        ("UPDATE runs SET answer = 'Saved twice.' WHERE ended_at IS NOT NULL", "runs "),
        (
            "UPDATE journal SET data = '{}' WHERE seq = 3",
            "journal: rows were changed",
        ),
        ("DELETE FROM journal WHERE seq = 2", "journal: there were "),
        ("DELETE FROM effects", "is gone"),
        ("DELETE FROM runs WHERE thread_id = 'done'", "the run is gone"),
        (
            "UPDATE audit SET content = '{}' WHERE n = 3",
            "entry 3 of the chain was changed",
        ),
        ("UPDATE audit SET prev_hash = hash WHERE n = 2", "entry 2 does not follow the one before"),
        ("DELETE FROM audit WHERE n = 2", "entry 2 of the chain are missing"),
        ("DELETE FROM audit WHERE n = 4", "the run has ended, and no entry seals it"),
    ],
)
def test_what_was_changed_is_named(store: sqlite3.Connection, edit: str, problem: str) -> None:
    store.execute(edit)
    assert any(problem in text for text in problems(store))


def test_an_approval_that_nobody_gave_is_found_before_its_run_goes_on(store: sqlite3.Connection) -> None:
    store.execute("UPDATE gates SET status = 'approved', decided_by = 'boss' WHERE status = 'open'")
    (problem,) = problems(store)
    assert problem.endswith("is approved, and no entry tells of it")


def test_entries_that_were_cut_off_with_their_rows_are_found_by_the_anchor(store: sqlite3.Connection) -> None:
    anchor = head(store)
    for table in ("audit", "runs", "gates", "effects", "steps", "plans", "verdicts", "journal"):
        store.execute(f"DELETE FROM {table}")
    assert problems(store) == []
    assert problems(store, anchor) == ["entry 4 is not the one that was anchored: the chain ends at 0"]


def test_an_old_chain_that_was_made_anew_is_found_by_the_anchor(store: sqlite3.Connection) -> None:
    anchor = head(store)
    store.execute("UPDATE audit SET hash = 'f' WHERE n = 4")
    assert "entry 4 is not the one that was anchored: it has another hash" in problems(store, anchor)


@pytest.mark.sqlite
def test_the_program_itself_changes_and_removes_no_entry(played: Path) -> None:
    with opened_store(played / ".planwright") as connection:
        for change in ("UPDATE audit SET content = '{}'", "DELETE FROM audit"):
            with pytest.raises(sqlite3.IntegrityError, match="never"):
                connection.execute(change)
    connection.close()
