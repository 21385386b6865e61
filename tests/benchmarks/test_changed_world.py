"""The short form of `changed_world`, worlds that are other, and a judge that sees what goes wrong."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest

from benchmarks.changed_world import SHORT, Cell, drawn
from benchmarks.counting_receiver import receiving
from benchmarks.crash_calls_trial import Kill
from benchmarks.storage_faults import compiler
from benchmarks.world_changes import CHANGES, Change
from benchmarks.world_files import CLASSES, Desk
from benchmarks.world_shapes import SHAPES
from benchmarks.world_stage import Ended, WorldStage
from benchmarks.world_trial import Case, Point
from benchmarks.world_verdict import BARS, Verdict, judge, watch
from tests.forked import Forked

ROOT = Path(__file__).parents[2]
PATIENCE_S = 600
RECORDS = """
CREATE TABLE effects (key, first_key, capability, status, args, run_id);
CREATE TABLE gates (gate_id, kind, status, shown);
CREATE TABLE runs (run_id, status, ended_at, owner);
CREATE TABLE journal (run_id, type, data, ts, seq);
CREATE TABLE store_time (off_s);
INSERT INTO effects VALUES
    ('k1', NULL, 'desk.send', 'done', '{"name": "first"}', 'r1'),
    ('k2', NULL, 'desk.send', 'done', '{"name": "second"}', 'r1');
INSERT INTO gates VALUES ('g1', 'plan', 'approved', '{"args": {"name": "first"}}');
INSERT INTO runs VALUES ('r1', 'completed', 'now', 'here:b:n:1:2:3');
"""


@pytest.mark.sweep
@pytest.mark.enable_socket
@pytest.mark.skipif(not compiler(), reason="there is no C compiler to make the trap with")
def test_whatever_changes_in_the_world_each_effect_happens_once(tmp_path: Path) -> None:
    path = tmp_path / "changed_world.json"
    arguments = ("--short", "--json", str(path))
    with Forked("benchmarks.changed_world", *arguments, folder=ROOT, env=os.environ) as process:
        code = process.wait(PATIENCE_S)
        assert path.exists(), process.stderr
        assert code == 0, process.stdout
    figures = json.loads(path.read_text())
    assert figures["bad"] == []
    assert figures["killed_runs"] == len(SHORT)
    assert {change.part for change in CHANGES.values() if change.part} <= set(figures["noticed"])


def test_the_short_form_has_every_shape_change_and_class() -> None:
    cases = [Case.read(text) for text in SHORT]
    assert [str(case) for case in cases] == list(SHORT)
    assert {case.shape for case in cases} == set(SHAPES)
    assert sorted(case.change for case in cases) == sorted(CHANGES)
    assert {case.effect for case in cases} == set(CLASSES)


def test_draws_are_the_same_for_a_seed_and_begin_with_an_effect_that_has_arrived() -> None:
    noted = [["t send network"] * 2, ["s fdatasync x", "w write sent.log", *["t send network"] * 4]]
    cells: list[Cell] = [("a loop", "nothing", "blind"), ("a loop", "code", "blind")]
    calls = {cells[0]: noted}
    cases = list(drawn(calls, cells, 60, 7))
    assert cases == list(drawn(calls, cells, 60, 7))
    assert cases != list(drawn(calls, cells, 60, 8))
    assert {case.points[0] for case in islice(cases, 2)} == {Point(1, Kill(2, "t", "a"))}
    assert {case.change for case in cases} == {"nothing", "code"}
    assert {point.kill.kind for case in cases for point in case.points} == set("wstn")
    assert {len(case.points) for case in cases} == {1, 2}


def test_a_backup_is_taken_of_a_store_that_is_there() -> None:
    noted = [["w write sent.log", "t send network"], ["w write x"]]
    calls: dict[Cell, list[list[str]]] = {("a loop", "nothing", "blind"): noted}
    cases = drawn(calls, [("a loop", "backup restored", "blind")], 30, 7)
    assert {case.points[0].command for case in cases} == {1}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_each_change_makes_other_files_or_a_process_in_another_world(change: Change, tmp_path: Path) -> None:
    written = []
    for name, world in (("first", change.first), ("then", change.then)):
        Desk(tmp_path, 1, SHAPES["a loop"], "queryable").write(world)
        written.append([path.read_text() for path in sorted(tmp_path.iterdir())])
        assert len(written[-1]) == 3, name
    around = ("prompts", "version", "host", "a day on", "a day back")
    same = change.name in ("nothing", "backup restored", *around)
    assert (written[0] == written[1]) is same
    assert (change.first == change.then) is (change.name in ("nothing", "backup restored"))


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[WorldStage]:
    with receiving(None) as receiver:
        stage = WorldStage(tmp_path, receiver, SHAPES["a plain step"], "blind")
        (stage.workspace / ".planwright").mkdir(parents=True)
        change_store(stage, RECORDS)
        for key, name in (("k1", "first"), ("k2", "second")):
            receiver.send("blind", name, key)
        yield stage


def change_store(stage: WorldStage, script: str) -> None:
    """Change what is on record."""
    with closing(sqlite3.connect(stage.workspace / ".planwright" / "planwright.db")) as database:
        database.executescript(script)


def verdict(stage: WorldStage, script: str = "", change: str = "nothing", said: str = "") -> Verdict:
    """Judge a run whose records were changed, at a command that said something."""
    change_store(stage, script)
    found, ended = Verdict(), Ended(("resume",), 0, said, "")
    stage.ended.append(ended)
    watch(stage, ended, found, killed=True)
    judge(stage, CHANGES[change], "", found)
    return found


def missed(found: Verdict) -> list[str]:
    """Name the bars that were missed."""
    return [name for name in BARS if getattr(found, name)]


OPEN = (
    "UPDATE runs SET status = 'waiting', ended_at = NULL; UPDATE effects SET status = '{}' WHERE key = 'k2';"
)
CARD = "INSERT INTO gates VALUES ('g2', 'escalation', 'open', '{\"effects\": [{\"key\": \"k2\"}]}');"
PLAN = "INSERT INTO gates VALUES ('g2', 'plan', 'open', '{}');"


@pytest.mark.enable_socket
def test_a_run_whose_effects_happened_once_is_right(stage: WorldStage) -> None:
    assert verdict(stage) == Verdict()


@pytest.mark.enable_socket
def test_an_effect_that_happened_twice_is_doubled(stage: WorldStage) -> None:
    stage.receiver.send("blind", "second", "k3")
    assert verdict(stage).doubled == ["second happened 2 times"]
    stage.receiver.send("blind", "unknown", "k4")
    assert verdict(stage).doubled == ["second happened 2 times", "unknown happened 1 times"]


@pytest.mark.enable_socket
def test_an_effect_that_was_approved_and_never_happened_is_lost(stage: WorldStage) -> None:
    nothing = "DELETE FROM effects WHERE key = 'k2';"
    change_store(stage, nothing)
    other = WorldStage(stage.folder, stage.receiver, SHAPES["a loop"], "blind")
    assert verdict(other).untrue == ["third happened 0 times, and the run is completed"]
    assert missed(verdict(other, change="tool gone")) == []
    approved = 'UPDATE gates SET shown = \'{"args": {"name": "third"}}\''
    assert verdict(other, approved).lost == ["third happened 0 times, and the run is completed"]


@pytest.mark.enable_socket
def test_an_ended_run_leaves_no_effect_without_an_end(stage: WorldStage) -> None:
    left = verdict(stage, "UPDATE effects SET status = 'intent' WHERE key = 'k2'")
    assert left.intents == ["desk.send second is begun, and its run has ended"]
    assert left.unnamed == ["the run ends, and desk.send second is intent in silence"]
    doubtful = verdict(
        stage, "UPDATE effects SET status = 'in_doubt' WHERE key = 'k2'", said="k2 desk.send second"
    )
    assert (doubtful.intents, doubtful.unnamed) == ([], [])
    assert doubtful.untrue == ["desk.send second is in_doubt to the end"]


@pytest.mark.enable_socket
@pytest.mark.parametrize("status", ["intent", "in_doubt"])
def test_a_card_names_each_effect_in_doubt(stage: WorldStage, status: str) -> None:
    unasked = verdict(stage, OPEN.format(status) + PLAN, said="g2: k2 desk.send second")
    assert unasked.unnamed == [f"desk.send second is {status}, and no card asks about it"]
    shown = verdict(stage, "DELETE FROM gates WHERE gate_id = 'g2';" + CARD, said="g2: k2 desk.send second")
    assert (shown.unnamed, shown.asked) == ([], 1)
    assert verdict(stage, said="g2: k2 desk.send").unnamed == [
        "the card about desk.send second does not show second"
    ]
    assert verdict(stage, said="another command").unnamed == []


@pytest.mark.enable_socket
def test_an_end_that_is_not_true_is_seen(stage: WorldStage) -> None:
    assert verdict(stage, "UPDATE runs SET status = 'failed'").untrue == ["the run is failed"]
    assert missed(verdict(stage, change="tool gone")) == []
    assert verdict(stage, "UPDATE runs SET status = 'completed'", said="Traceback (most").untrue == [
        "a traceback: Traceback (most"
    ]
    assert verdict(stage, "UPDATE effects SET status = 'failed' WHERE key = 'k2'").untrue == [
        "second is on record as failed, and happened"
    ]
    assert verdict(stage, "UPDATE effects SET status = 'done', key = 'k9' WHERE key = 'k2'").untrue == [
        "second is on record as done, and did not happen"
    ]


@pytest.mark.enable_socket
def test_what_the_program_noticed_is_read_from_its_records(stage: WorldStage) -> None:
    events = "INSERT INTO journal VALUES ('r1', 'versions_changed', '{\"parts\": [\"policy\"]}', '{}', 1);"
    assert verdict(stage, events).noticed == ["policy"]
    assert verdict(stage, "INSERT INTO store_time VALUES (-86400)").noticed == ["clock", "policy"]
    assert "host" in verdict(stage, "UPDATE runs SET owner = 'elsewhere:b'").noticed
