"""A short form of `crash_calls`, deaths that come where they are due, and a judge that sees faults."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest

from benchmarks.counted_person import Outcome
from benchmarks.counted_shapes import SHAPES
from benchmarks.counted_stage import Stage, rows_of
from benchmarks.counting_receiver import receiving
from benchmarks.crash_calls import figures_of
from benchmarks.crash_calls_trial import CALL, KINDS, LOG, SOURCE, Trial, draws, judge
from benchmarks.storage_faults import LIBRARY, compiler
from tests.forked import Forked
from tests.patience import PATIENCE_S
from tests.sampling import examples

ROOT = Path(__file__).parents[2]

needs_a_compiler = pytest.mark.skipif(not compiler(), reason="there is no C compiler to make the trap with")
WRITES = """
import os, socket, sys
pair = [socket.create_server(("127.0.0.1", 0))]
pair.append(socket.create_connection(pair[0].getsockname()))
for name in "xyz":
    path = f"{sys.argv[1]}/{name}"
    with open(path, "wb", buffering=0) as file:
        file.write(b"ab")
        os.fsync(file.fileno())
os.write(1, b"ab")
pair[1].send(b"ab")
os.rename(path, path + "2")
"""
TABLE = """
import sqlite3, sys
database = sqlite3.connect(f"{sys.argv[1]}/x.db", isolation_level=None)
database.execute("CREATE TABLE t (n)")
database.execute("INSERT INTO t VALUES (1)")
"""
DOUBTFUL = json.dumps({"in_doubt": ["s1"], "effects": [{"key": "k1", "args": {"name": "first"}}]})
RECORDS = f"""
CREATE TABLE effects (key, capability, status, effect, args, run_id);
CREATE TABLE gates (run_id, kind, status, step_uid, shown_hash, shown);
CREATE TABLE runs (run_id, status, ended_at);
CREATE TABLE journal (run_id, type);
INSERT INTO effects VALUES ('k1', 'bench.book', 'done', 'blind', '{{"name": "first"}}', 'r1');
INSERT INTO gates VALUES ('r1', 'plan', 'approved', NULL, 'h1', '{{}}');
INSERT INTO gates VALUES ('r1', 'escalation', 'responded', NULL, 'h2', '{DOUBTFUL}');
INSERT INTO runs VALUES ('r1', 'completed', 'now'), ('r2', 'completed', 'now');
INSERT INTO journal VALUES ('r1', 'run_end'), ('r2', 'run_end');
"""


@pytest.mark.long
@needs_a_compiler
def test_every_run_ends_as_it_should_however_often_it_is_killed(tmp_path: Path) -> None:
    points, doubles = examples(8), examples(4)
    arguments = ["--points", str(points), "--doubles", str(doubles)]
    arguments += ["--shape", "a sequence", "--seed", "7", "--json", str(tmp_path / "crash_calls.json")]
    with Forked("benchmarks.crash_calls", *arguments, folder=ROOT, env=os.environ) as process:
        assert process.wait(PATIENCE_S) == 0, process.stdout + process.stderr
    figures = json.loads((tmp_path / "crash_calls.json").read_text())
    assert (figures["bad"], figures["lost"], figures["doubled"], figures["stuck"]) == ([], 0, 0, 0)
    assert (figures["points"], figures["double_kills"]) >= (points, doubles)
    assert set(figures["calls"]["a sequence"]) == set(KINDS)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("trap") / "crash_calls.so"
    subprocess.run([compiler(), "-shared", "-fPIC", "-o", str(made), str(SOURCE), "-ldl"], check=True)
    return made


def dies(library: Path, program: str, point: str, folder: Path, below: str = "/") -> int:
    """Run a program that dies at a point; return its exit code."""
    environment = {**os.environ, LIBRARY: str(library), CALL: f"{point}:{folder}{below}"}
    environment[LOG] = str(folder.parent / "calls.txt")
    return subprocess.run(
        [sys.executable, "-c", program, str(folder)], env=environment, check=False
    ).returncode


@needs_a_compiler
@pytest.mark.enable_socket
@pytest.mark.parametrize(
    ("point", "files", "call"),
    [
        ("2:b:w", {"x": "ab", "y": ""}, "w write y"),
        ("2:m:w", {"x": "ab", "y": "a"}, "w write y"),
        ("2:a:w", {"x": "ab", "y": "ab"}, "w write y"),
        ("4:a:*", {"x": "ab", "y": ""}, "n open64 y"),
        ("1:a:s", {"x": "ab"}, "s fsync x"),
        ("1:b:t", {"x": "ab", "y": "ab", "z": "ab"}, "t send network"),
        ("4:b:n", {"x": "ab", "y": "ab", "z": "ab"}, "n rename z"),
        ("4:a:n", {"x": "ab", "y": "ab", "z2": "ab"}, "n rename z"),
    ],
)
def test_a_process_dies_at_its_call(
    tmp_path: Path, library: Path, point: str, files: dict[str, str], call: str
) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    assert dies(library, WRITES, point, folder) == -signal.SIGKILL
    assert {path.name: path.read_text() for path in folder.iterdir()} == files
    assert (tmp_path / "calls.txt").read_text().splitlines() == [call]


@needs_a_compiler
@pytest.mark.enable_socket
def test_what_is_only_counted_or_lies_elsewhere_kills_nobody(tmp_path: Path, library: Path) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    assert dies(library, WRITES, "1:b:w", folder, "/elsewhere/") == 0
    assert dies(library, WRITES, "0:b:*", folder) == 0
    noted = (tmp_path / "calls.txt").read_text().splitlines()
    assert [line[0] for line in noted] == [*"nwsnwsnws", "t", "n"]


@needs_a_compiler
def test_a_database_whose_writer_died_is_read_without_a_write(tmp_path: Path, library: Path) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    assert dies(library, TABLE, "4:b:n", folder) == -signal.SIGKILL  # its journal would be removed then
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert rows_of(folder / "x.db", "SELECT n FROM t") == []
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_draws_are_the_same_for_a_seed_and_reach_every_shape_and_kind() -> None:
    calls = {name: {"w": 100, "s": 10, "n": 5, "t": 3} for name in SHAPES}
    drawn = list(islice(draws(calls, 2, 7), 400))
    assert drawn == list(islice(draws(calls, 2, 7), 400))
    assert drawn != list(islice(draws(calls, 2, 8), 400))
    assert {draw.shape for draw in drawn} == set(SHAPES)
    kills = {(kill.kind, kill.when) for draw in drawn for kill in draw.kills}
    assert kills == {
        *((kind, when) for kind in "wt" for when in "bma"),
        *((k, w) for k in "sn" for w in "ba"),
    }
    assert all(1 <= kill.at <= calls[draw.shape][kill.kind] for draw in drawn for kill in draw.kills)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with receiving(None) as receiver:
        stage = Stage(tmp_path, receiver, SHAPES["a fork"])
        stage.store.mkdir()
        with closing(sqlite3.connect(stage.store / "planwright.db")) as database:
            database.execute("CREATE TABLE checkpoints (id)")
        with closing(sqlite3.connect(stage.store / "planwright.db")) as database:
            database.executescript(RECORDS)
        for key, name in (("k1", "first"), ("k2", "second"), ("k3", "second")):
            receiver.send("blind", name, key)
        yield stage


def verdict(stage: Stage, query: str = "", ended: bool = True, open_: str = "k1") -> Trial:
    """Judge a run whose records were changed."""
    with closing(sqlite3.connect(stage.store / "planwright.db")) as database:
        database.executescript(query)
    trial = Trial("a fork", {})
    judge(stage, Outcome(ended=ended, refusals=["no"]), {open_}, trial)
    return trial


@pytest.mark.enable_socket
def test_a_true_doubt_and_gates_asked_once_are_right(stage: Stage) -> None:
    assert verdict(stage) == Trial("a fork", {}, doubts=1)


@pytest.mark.enable_socket
def test_a_doubt_about_what_ended_or_can_be_looked_up_is_false(stage: Stage) -> None:
    assert verdict(stage, open_="k9").false_doubts == ["first"]
    assert verdict(stage, "UPDATE effects SET effect = 'queryable'").false_doubts == ["first"]


@pytest.mark.enable_socket
def test_a_wrong_end_is_seen(stage: Stage) -> None:
    assert verdict(stage, ended=False).stuck == ["['no']"]
    assert verdict(stage, "UPDATE effects SET status = 'failed'").wrong == [
        "recorded as failed, though it happened: first"
    ]
    asked = "INSERT INTO gates SELECT * FROM gates WHERE kind = 'plan'"
    assert "a gate is asked twice" in verdict(stage, asked).wrong
    doubted = "INSERT INTO gates SELECT * FROM gates WHERE kind = 'escalation'"
    assert "asked twice whether it happened: first" in verdict(stage, doubted).wrong
    assert "a gate is left open" in verdict(stage, "UPDATE gates SET status = 'open'").wrong
    assert "it ended as failed, failed" in verdict(stage, "UPDATE runs SET status = 'failed'").wrong


def test_points_and_double_kills_are_counted() -> None:
    good = {"lost": [], "doubled": [], "wrong": [], "false_doubts": [], "stuck": [], "doubts": 1}
    trials = [{**good, "killed": killed} for killed in ([], ["x"], ["x", "y"])]
    trials.append({**good, "killed": ["x"], "lost": ["first"]})
    assert figures_of(trials) | {"doubts": 0} == {
        **dict.fromkeys(("doubled", "wrong", "false_doubts", "stuck", "doubts"), 0),
        **{"points": 3, "double_kills": 1, "lost": 1},
    }
