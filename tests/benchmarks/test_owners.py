"""A short form of `owners`, and judges that see a doubled, a lost and a late effect."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks import namespaces, owners
from benchmarks.counted_shapes import SHAPES
from benchmarks.counted_stage import Stage
from benchmarks.counted_verdict import effects_wrong
from benchmarks.counting_receiver import receiving
from benchmarks.owners_processes import checkpointed_late, contents
from tests.forked import Forked
from tests.patience import PATIENCE_S

SHORT = ("--wakes", "3", "--races", "5", "--strangers", "2", "--blocked", "1", "--seed", "7")


@pytest.mark.long
@pytest.mark.enable_socket
def test_every_effect_happens_once_whoever_owns_its_run(tmp_path: Path) -> None:
    with Forked("benchmarks.owners", *SHORT, folder=tmp_path, env=dict(os.environ)) as process:
        code, shown = process.wait(PATIENCE_S), process.stdout + process.stderr
    assert code == 0, shown
    figures = json.loads((tmp_path / "owners.json").read_text())
    assert figures["bad"] == []
    assert sum(figures[f"woken {order}"].get("taken", 0) for order in ("after", "during", "before")) >= 3
    assert figures["races of two"]["worked"] + figures["races of eight"]["worked"] == 10
    if "skipped" in shown:
        pytest.skip("this machine permits no PID namespaces")
    assert figures["another namespace, alive"]["tried"] > 0


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with receiving(None) as receiver:
        yield Stage(tmp_path, receiver, SHAPES["a fork"])


@pytest.mark.enable_socket
def test_effects_are_counted_by_name_and_keys_are_honoured_where_they_are(stage: Stage) -> None:
    for kind, key in (("idempotent", "1"), ("idempotent", "1"), ("blind", "2"), ("blind", "2")):
        stage.receiver.send(kind, "first" if kind == "idempotent" else "second", key)
    assert effects_wrong(stage) == ([], [], [])
    stage.receiver.send("queryable", "second", "3")
    stage.receiver.send("idempotent", "first", "4")
    assert tuple(map(sorted, effects_wrong(stage))) == (["first", "second"], [], [])


@pytest.mark.enable_socket
def test_what_never_arrived_is_lost_unless_it_is_in_doubt(stage: Stage) -> None:
    stage.store.mkdir()
    with closing(sqlite3.connect(stage.store / "planwright.db")) as database, database:
        database.execute("CREATE TABLE effects (args TEXT, status TEXT)")
        database.execute("""INSERT INTO effects VALUES ('{"name": "second"}', 'in_doubt')""")
    assert effects_wrong(stage) == ([], [], ["first", "second"])
    with closing(sqlite3.connect(stage.store / "planwright.db")) as database, database:
        database.execute("UPDATE effects SET status = 'done'")
    assert effects_wrong(stage) == ([], ["first", "second"], [])


@pytest.mark.enable_socket
def test_a_late_checkpoint_and_any_row_that_changes_are_seen(stage: Stage) -> None:
    stage.store.mkdir()
    path = stage.store / "planwright.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE checkpoints (id INTEGER PRIMARY KEY, metadata TEXT)")
        wrote = [(json.dumps({"process": who}),) for who in ("first", "second", "first")]
        database.executemany("INSERT INTO checkpoints (metadata) VALUES (?)", wrote)
    before = contents(stage)
    assert (len(before), checkpointed_late(stage)) == (3, 1)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE checkpoints SET metadata = '{}' WHERE id = 3")
    assert len(before ^ contents(stage)) == 2


def test_a_trial_with_anything_bad_counts() -> None:
    part = [{"robbed": False, "doubled": [], "wrong": []}, {"robbed": True, "doubled": ["x"], "wrong": []}]
    assert owners.figures_of(part) == {"trials": 2, "robbed": 1, "doubled": 1, "wrong": 0}


def test_it_says_why_no_namespace_can_be_made() -> None:
    assert namespaces.permitted() in ("", "this machine permits no PID namespaces")
