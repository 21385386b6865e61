"""A short form of `sessions`, and a judge that sees what is wrong with the end of a session."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.counted_stage import Stage
from benchmarks.counting_receiver import receiving
from benchmarks.session_shapes import SESSIONS
from benchmarks.session_verdict import session_wrong
from benchmarks.sessions import figures_of
from tests.forked import Forked
from tests.patience import PATIENCE_S

SHORT = ("--points", "4", "--seed", "7", "--shape", "one step", "--shape", "a schedule")
TABLES = """
CREATE TABLE gates (gate_id, status); CREATE TABLE usage (run_id, settled);
CREATE TABLE runs (run_id); CREATE TABLE sessions (run_id); CREATE TABLE verdicts (run_id, key);
CREATE TABLE session_checkpoints (run_id, verdict_key, hash); CREATE TABLE journal (run_id, type, seq);
INSERT INTO sessions VALUES ('r1');
INSERT INTO journal VALUES ('r1', 'task_queued', 1), ('r1', 'task_completed', 2);
"""


@pytest.mark.long
@pytest.mark.enable_socket
def test_a_session_whose_processes_are_killed_is_done_once(tmp_path: Path) -> None:
    with Forked("benchmarks.sessions", *SHORT, folder=tmp_path, env=dict(os.environ)) as process:
        code, printed = process.wait(PATIENCE_S), process.stdout + process.stderr
    assert code == 0, printed
    figures = json.loads((tmp_path / "sessions.json").read_text())
    assert (figures["points"], figures["bad"]) == (5, [])
    assert figures["by_strike"] == {"process": 4, "checkpoint": 1}
    assert list(tmp_path.glob("*.jsonl")) == []


def test_there_are_shapes_of_every_kind() -> None:
    assert len(SESSIONS) >= 20
    assert {shape.asks for shape in SESSIONS.values()} == {"", "pause", "cancel", "extend"}
    assert {shape.then for shape in SESSIONS.values()} == {"", "undo", "fork", "remember"}


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with receiving(None) as receiver:
        stage = Stage(tmp_path, receiver, SESSIONS["one step"])
        stage.store.mkdir()
        with closing(sqlite3.connect(stage.store / "planwright.db")) as database:
            database.executescript(TABLES)
        yield stage


@pytest.mark.enable_socket
@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ("SELECT 1", ""),
        ("INSERT INTO gates VALUES ('g1', 'open')", "left behind: an open gate, 1 times"),
        ("INSERT INTO usage VALUES ('r1', 0)", "left behind: a reserved budget, 1 times"),
        ("INSERT INTO verdicts VALUES ('r1', 'v1')", "left behind: a verdict without a checkpoint, 1 times"),
        ("INSERT INTO journal VALUES ('r1', 'task_queued', 3)", "r1 was queued 2 times"),
        ("INSERT INTO journal VALUES ('r1', 'task_failed', 3)", "the task of r1 ended 2 times"),
        ("DELETE FROM journal WHERE seq = 2", "the task of r1 ended 0 times"),
    ],
)
def test_the_judge_sees_what_is_left_and_what_is_told_twice(
    stage: Stage, change: str, complaint: str
) -> None:
    with closing(sqlite3.connect(stage.store / "planwright.db")) as database, database:
        database.execute(change)
    wrong = [text for text in session_wrong(stage) if not text.startswith("db check")]
    assert wrong == ([complaint] if complaint else [])


def test_a_session_that_was_not_struck_is_judged_and_is_no_point() -> None:
    trial = {
        "shape": "one step",
        "strike": "process",
        "strikes": 0,
        "lost": ["only"],
        "doubled": [],
        "left_in_doubt": [],
        "wrong": [],
        "processes": [],
        "seconds": 1,
    }
    figures = figures_of([trial])
    assert (figures["points"], figures["lost"], figures["bad"]) == (0, 1, [trial])
