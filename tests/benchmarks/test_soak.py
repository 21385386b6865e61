"""A short form of `soak`, and a judge that sees each kind of wrong row."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import ormsgpack
import pytest

from benchmarks.counted_shapes import SHAPES
from benchmarks.counted_stage import Stage, fork
from benchmarks.counting_receiver import receiving
from benchmarks.soak import Troop
from benchmarks.soak_judge import disagreements
from benchmarks.soak_records import TABLES, Records, Row, read_records
from benchmarks.soak_requests import Desk, asked
from tests.forked import Forked
from tests.patience import PATIENCE_S

SHORT = ("--minutes", "0.1", "--workers", "1", "--every", "2", "--seed", "7")


@pytest.mark.long
@pytest.mark.enable_socket
def test_whatever_is_killed_and_paused_all_records_agree(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    arguments = (*SHORT, "--keep", str(kept))
    with Forked("benchmarks.soak", *arguments, folder=tmp_path, env=dict(os.environ)) as process:
        code, shown = process.wait(PATIENCE_S), process.stdout + process.stderr
    assert code == 0, shown
    figures = json.loads((tmp_path / "soak.json").read_text())
    assert figures["wrong"] == []
    assert figures["rows"]["runs"] > 0
    assert figures.get("killed", 0) + figures.get("stopped", 0) > 0
    arrivals = [(name, key) for name, key in json.loads((kept / "arrivals.json").read_text())]
    assert disagreements(read_records(kept / "workspace" / ".planwright", arrivals)) == []


def event(run: str, seq: int, type_: str, **data: object) -> Row:
    """Write an event of the journal."""
    return {"run_id": run, "seq": seq, "type": type_, "data": data}


def step(run: str, uid: str, capability: str, status: str = "completed") -> Row:
    """Write a step."""
    result = {"uid": uid, "step_id": f"id {uid}", "capability": capability, "status": status}
    return {"run_id": run, "uid": uid, "step_id": f"id {uid}", "status": status, "result": result}


def effect(run: str, uid: str, key: str, capability: str, kind: str = "blind", **more: object) -> Row:
    """Write an effect that is done."""
    row: Row = {"run_id": run, "step_uid": uid, "key": key, "first_key": None, "capability": capability}
    row |= {"effect": kind, "args": {"name": "a"}, "status": "done", "code": "", "intended_at": "2"}
    return {**row, **more}


def told(run: str, request: str, uid: str) -> list[Row]:
    """Write the journal of a run of one step."""
    return [
        event(run, 1, "user_message", content=request),
        event(run, 2, "approval_requested", gate_id=f"gate {run}"),
        event(run, 3, "approval_resolved", gate_id=f"gate {run}", decision="approved"),
        event(run, 4, "plan_step_start", uid=uid),
        event(run, 5, "plan_step_complete", uid=uid, status="completed"),
        event(run, 6, "agent_message", content="done"),
        event(run, 7, "run_end", status="completed"),
    ]


def ran(id_: str, thread: str, request: str) -> Row:
    """Write a run that has completed."""
    row = {"run_id": id_, "thread_id": thread, "request": request, "status": "completed", "answer": "done"}
    return {**row, "ended_at": "9", "cancelled_by": None, "lease_token": 3}


@pytest.fixture
def records() -> Records:
    """A run, its undoing, and a memory of it."""
    gate = {"status": "approved", "decided_at": "1", "shown": '{"args": {"name": "a"}}'}
    checked = [{"uid": "u1", "step": {"id": "s1"}}]
    values = {"status": "completed", "answer": "done"}
    return Records(
        {
            "runs": [ran("r1", "t1", "do a"), ran("r2", "t2", "undo r1")],
            "gates": [{**gate, "gate_id": f"gate {id_}", "run_id": id_} for id_ in ("r1", "r2")],
            "effects": [effect("r1", "u1", "k1", "bench.stamp"), effect("r2", "u2", "k2", "bench.unbook")],
            "steps": [step("r1", "u1", "bench.stamp"), step("r2", "u2", "bench.unbook")],
            "journal": [*told("r1", "do a", "u1"), *told("r2", "undo r1", "u2")],
            "plans": [{"run_id": "r1", "kind": "plan", "checked": checked}],
            "forks": [],
            "proposals": [{"text": "metric", "status": "accepted"}, {"text": "loud", "status": "rejected"}],
            "memories": [{"text": "metric"}],
        },
        {
            thread: {
                **values,
                "run_id": id_,
                "messages": [{"response_metadata": {"run_id": id_}}],
                "results": {},
            }
            for thread, id_ in (("t1", "r1"), ("t2", "r2"))
        },
        [("a", "k1"), ("not a", "k7")],
    )


def test_records_that_agree_are_no_finding(records: Records) -> None:
    assert disagreements(records) == []


def change(table: str, index: int = 0, **values: object) -> Callable[[Records], None]:
    """Change a row of a table."""
    return lambda records: records.tables[table][index].update(values)


def drop(table: str, index: int = 0) -> Callable[[Records], None]:
    """Lose a row of a table."""

    def lost(records: Records) -> None:
        del records.tables[table][index]

    return lost


def add(table: str, row: Row) -> Callable[[Records], None]:
    """Put one row too many into a table."""
    return lambda records: records.tables[table].append(row)


def arrives(*arrivals: tuple[str, str]) -> Callable[[Records], None]:
    """Have the receiver count other arrivals."""

    def plant(records: Records) -> None:
        assert isinstance(records.arrivals, list)
        records.arrivals[:] = arrivals

    return plant


def checkpoint(**values: object) -> Callable[[Records], None]:
    """Change the last checkpoint of the first thread."""
    return lambda records: records.checkpoints["t1"].update(values)


AGAIN = effect("r1", "u1", "k3", "bench.stamp")
A, NOT_A = ("a", "k1"), ("not a", "k7")


@pytest.mark.parametrize(
    ("plant", "seen"),
    [
        (arrives(A, A, NOT_A), "a arrived 2 times under one key"),
        (arrives(A, NOT_A, ("b", "k9")), "b arrived, and no effect on record sent it"),
        (drop("effects"), "a arrived, and no effect on record sent it"),
        (arrives(NOT_A), "the ledger says done of a of r1, and it did not happen"),
        (arrives(A), "the ledger says done of a of r2, and it did not happen"),
        (change("effects", status="failed"), "the ledger says failed of a of r1, and it happened"),
        (change("effects", status="in_doubt"), "the ledger leaves a of r1 as in_doubt"),
        (change("effects", status="intent"), "the ledger leaves a of r1 as intent"),
        (arrives(A, NOT_A, ("not a", "k8")), "not a happened 2 times, more often than it was done"),
        (change("effects", intended_at="0"), "bench.stamp of r1 was begun before anybody approved of it"),
        (change("gates", shown="{}"), "bench.stamp of r1 was begun before anybody approved of it"),
        (drop("steps"), "bench.stamp of r1 is done, and no step tells of it"),
        (drop("steps"), "the journal tells of u1 of r1, which is no step"),
        (change("steps", status="failed"), "step id u1 of r1 is failed, the journal tells completed"),
        (change("steps", status="failed"), "step id u1 of r1 is failed, and its result tells something else"),
        (change("steps", status="skipped"), "step id u1 of r1 was skipped, and an effect of it is done"),
        (drop("effects", 1), "step id u2 of r2 completed, and no effect of it is done"),
        (drop("journal", 4), "step id u1 of r1 is completed, the journal tells nothing"),
        (drop("journal", 3), "the journal does not tell that bench.stamp of r1 began"),
        (change("gates", status="open"), "gate gate r1 of r1 is open"),
        (change("gates", status="rejected"), "gate gate r1 of r1 is rejected, the journal tells approved"),
        (drop("journal", 2), "gate gate r1 of r1 is approved, the journal tells nothing"),
        (drop("journal", 1), "gate gate r1 of r1 is approved, the journal tells no such gate"),
        (drop("gates"), "the journal tells of gate gate r1, which is not on record"),
        (change("runs", ended_at=None), "r1 has not ended, it is completed"),
        (change("runs", status="failed"), "r1 is failed, the journal tells completed"),
        (drop("journal", 6), "r1 is completed, the journal tells no end"),
        (change("runs", request="do b"), "the journal tells another request of r1"),
        (change("runs", answer="no"), "the journal tells another answer of r1"),
        (change("journal", 2, seq=9), "the events of r1 are not in order"),
        (drop("runs"), "the journal tells of r1, which is not on record"),
        (change("steps", uid="u9"), "r1 completed, and its step s1 did not"),
        (change("runs", status="cancelled"), "r1 is cancelled, and by nobody"),
        (drop("runs"), "thread t1 has checkpoints and no run"),
        (lambda records: records.checkpoints.clear(), "r1 has no checkpoint"),
        (checkpoint(run_id="r0"), "the last checkpoint of r1 has another run_id: r0"),
        (checkpoint(status="failed"), "the last checkpoint of r1 has another status: failed"),
        (checkpoint(answer="no"), "the last checkpoint of r1 has another answer: no"),
        (checkpoint(messages=[{"id": "x"}]), "the last message in the checkpoint of r1 is not its answer"),
        (
            checkpoint(results={"u1": {"status": "failed", "step_id": "s1"}}),
            "the checkpoint of r1 says failed of s1, no step does",
        ),
        (checkpoint(**{"branch:to:respond": None}), "the last checkpoint of r1 waits for a node"),
        (drop("memories"), "accepted and not remembered: metric"),
        (add("memories", {"text": "loud"}), "remembered 1 times more than was accepted: loud"),
    ],
)
def test_each_kind_of_wrong_row_is_seen(
    records: Records, plant: Callable[[Records], None], seen: str
) -> None:
    plant(records)
    assert seen in disagreements(records)


def test_a_call_that_a_person_kept_from_beginning_need_not_be_told_of(records: Records) -> None:
    add("steps", step("r1", "u5", "bench.stamp", "rejected"))(records)
    assert disagreements(records) == []
    add("steps", step("r1", "u6", "bench.stamp", "completed"))(records)
    assert "step id u6 of r1 is completed, the journal tells nothing" in disagreements(records)


@pytest.mark.parametrize(("at", "wrong"), [("8", 1), ("99", 0)])
def test_what_was_in_doubt_is_told_of_as_failed(records: Records, at: str, wrong: int) -> None:
    records.tables["journal"][4]["data"]["status"] = "failed"
    records.checkpoints["t1"]["results"] = {"u1": {"status": "failed", "step_id": "s1"}}
    assert len(disagreements(records)) == 2
    records.tables["steps"][0]["result"]["code"] = "confirmed"
    change("steps", ended_at=at)(records)
    assert len(disagreements(records)) == wrong


def test_what_happens_twice_under_two_keys_is_seen(records: Records) -> None:
    add("effects", AGAIN)(records)
    arrives(A, NOT_A, ("a", "k3"))(records)
    assert "a happened 2 times in r1" in disagreements(records)


def test_an_idempotent_call_that_nobody_answered_may_have_happened(records: Records) -> None:
    change("effects", status="failed", code="unavailable")(records)
    assert "the ledger says failed of a of r1, and it happened" in disagreements(records)
    change("effects", effect="idempotent")(records)
    assert not [one for one in disagreements(records) if one.startswith("the ledger")]


def test_records_are_read_from_the_store(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "planwright.db")) as database, database:
        for table in TABLES:
            database.execute(f"CREATE TABLE {table} (run_id, result, data, args, checked)")
            database.execute(f"INSERT INTO {table} VALUES ('r1', '1', '[2]', '3', '4')")
        database.execute("CREATE TABLE checkpoints (thread_id, checkpoint_ns, type, checkpoint)")
        database.execute("CREATE TABLE contents (thread_id, hash, type, value)")
        message = ormsgpack.Ext(5, ormsgpack.packb(["module", "Class", {"id": "x"}, "method"]))
        for name, space in (("old", ""), ("new", ""), ("inner", "lane")):
            packed = ormsgpack.packb({"refs": {"status": [name], "messages": b"l" * 16}})
            database.execute("INSERT INTO checkpoints VALUES ('t1', ?, 'refs', ?)", (space, packed))
        contents = [(b"l" * 16, "log", b"m" * 16), (b"m" * 16, "msgpack", ormsgpack.packb(message))]
        database.executemany("INSERT INTO contents VALUES ('t1', ?, ?, ?)", contents)
    records = read_records(tmp_path, [A])
    assert records.checkpoints == {"t1": {"status": "new", "messages": [{"id": "x"}]}}
    assert (records.arrivals, set(records.tables)) == ([A], set(TABLES))
    assert (records.tables["steps"][0]["result"], records.tables["journal"][0]["data"]) == (1, [2])


def test_requests_follow_from_seed_and_number_and_the_model_knows_them_all() -> None:
    drawn = [asked(7, number) for number in range(40)]
    assert asked(7, 3) is drawn[3]
    assert {one.request.way for one in drawn} == {"plan", "loop", "chain", "sub-agent", "agentic step"}
    assert all(one.text.endswith(one.request.script.request) for one in drawn)
    planned = next(n for n, one in enumerate(drawn) if one.request.way == "plan")
    asks = [{"role": "system", "content": "Role: planner"}, {"role": "user", "content": drawn[planned].text}]
    assert json.loads(Desk(7).reply(asks, ())["content"]) == drawn[planned].request.script.plan
    said = next(one for one in drawn if one.memory)
    told_ = [{"role": "system", "content": "Role: consolidate"}, {"role": "user", "content": said.text}]
    assert said.memory in Desk(7).reply(told_, ())["content"]


@pytest.mark.enable_socket
def test_who_ends_without_being_killed_is_a_finding(tmp_path: Path) -> None:
    with receiving(None) as receiver:
        troop = Troop(Stage(tmp_path / "workspace", receiver, SHAPES["a plan"]), 0, 1)
        for signalled in (signal.SIGKILL, 0):
            pid = fork(signal.pause if signalled else lambda: None)
            troop.living[pid] = "last"
            if signalled:
                os.kill(pid, signalled)
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert troop.reap() == ["last", "last"]
    assert troop.wrong == ["a last ended with -9", "a last ended with 0"]


@pytest.mark.enable_socket
def test_a_receiver_waits_for_those_who_came_earlier_and_for_nobody_else() -> None:
    with receiving(None, held=frozenset(("slow",))) as receiver:
        first = threading.Thread(target=receiver.send, args=("blind", "slow", "k1"))
        first.start()
        while not receiver.arrivals():
            pass
        seen: list[str] = []
        asks = threading.Thread(target=lambda: seen.extend(one.name for one in receiver.happened("earlier")))
        asks.start()
        while receiver.connected() < 3:
            pass
        assert seen == []
        receiver.happened("release")
        first.join()
        asks.join()
    assert seen == ["slow"]
