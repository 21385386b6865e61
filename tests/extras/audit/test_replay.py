"""Verdicts and records are made anew from the rows of a run, and the first difference is named."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from planwright.domain.errors import RunError
from planwright.extras.audit.replay import Replay, replay_run
from planwright.extras.audit.run_diff import diff_runs
from planwright.store.blobs import Blobs

pytestmark = pytest.mark.sqlite  # its stores last longer than a test

ACCEPTED_BY_THE_BOSS = (
    "UPDATE verdicts SET facts = NULL, decided_by = 'boss',"
    """ content = replace(content, '"decided_by":""', '"decided_by":"boss"')"""
)


@pytest.fixture
def blobs(played: Path) -> Blobs:
    return Blobs(played / ".planwright" / "blobs")


def first(replay: Replay) -> str:
    assert not replay.equal
    return replay.differences[0]


def test_a_run_replays_equal_without_a_socket(store: sqlite3.Connection, run_id: str, blobs: Blobs) -> None:
    replay = replay_run(store, blobs, run_id)
    assert replay.equal
    assert (replay.verdicts, len(replay.record_hash), replay.notes) == (1, 64, ())


def test_a_run_that_waits_has_no_record_yet(store: sqlite3.Connection, blobs: Blobs) -> None:
    (waits,) = store.execute("SELECT run_id FROM runs WHERE thread_id = 'waits'").fetchone()
    replay = replay_run(store, blobs, waits)
    assert (replay.equal, replay.record_hash, replay.notes) == (True, "", ("the run has not ended",))


def test_a_run_that_is_not_there_is_refused(store: sqlite3.Connection, blobs: Blobs) -> None:
    with pytest.raises(RunError, match="no run nothing"):
        replay_run(store, blobs, "nothing")


def test_another_mark_is_named_by_step_and_field(
    store: sqlite3.Connection, run_id: str, blobs: Blobs
) -> None:
    text = store.execute("SELECT content FROM verdicts").fetchone()[0]
    store.execute("UPDATE verdicts SET content = ?", (text.replace('"utility":1.0', '"utility":0.9', 1),))
    difference = first(replay_run(store, blobs, run_id))
    assert "step_scores[0].utility: 0.9, and now 1.0" in difference


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        ("UPDATE verdicts SET verdict = 'escalate'", 'verdict: "escalate", and now "accept"'),
        ("UPDATE verdicts SET reason = 'so'", 'reason: "so"'),
        ("UPDATE verdicts SET inputs_hash = 'f'", "the facts are not those"),
        ("UPDATE verdicts SET facts = replace(facts, 'a.txt', 'b.txt')", "result"),
        ("UPDATE verdicts SET facts = '{}'", "it cannot be read"),
        (ACCEPTED_BY_THE_BOSS, "boss has not approved"),
        ("UPDATE steps SET result = replace(result, 'completed', 'skipped')", "result.status"),
        ("DELETE FROM steps", "its result is gone"),
        ("UPDATE effects SET status = 'failed'", "effect"),
        ("DELETE FROM effects", "effect"),
        ("UPDATE plans SET checked = replace(checked, 'Medium', 'Low')", "checked.step.estimated_risk"),
        ("DELETE FROM plans", "is gone"),
        ("UPDATE gates SET decided_by = 'boss', approvals = NULL WHERE status = 'approved'",
         "record: approvals[0].approvers[0]"),
        ("UPDATE runs SET status = 'failed' WHERE ended_at IS NOT NULL", "record: outcome"),
        ("UPDATE journal SET data = '{}' WHERE type = 'run_start'", "record: versions"),
        ("DELETE FROM verdicts", "record: verdict"),
    ],
)  # fmt: skip
def test_what_no_longer_follows_is_named(
    store: sqlite3.Connection, run_id: str, blobs: Blobs, edit: str, named: str
) -> None:
    store.execute(edit)
    assert any(named in difference for difference in replay_run(store, blobs, run_id).differences)


def test_a_difference_between_two_runs_is_told_by_plan_step_and_gate(
    store: sqlite3.Connection, run_id: str
) -> None:
    (waits,) = store.execute("SELECT run_id FROM runs WHERE thread_id = 'waits'").fetchone()
    lines = diff_runs(store, run_id, waits)
    assert lines[0] == "outcome: completed, and waiting"
    assert 'plan: changed s1 params.path: "a.txt" → "b.txt"' in lines
    assert "step s1: only in the first run" in lines
    assert diff_runs(store, run_id, run_id) == []
