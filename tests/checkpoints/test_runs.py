"""Runs: one process at a time, one open run a thread, and an end that stays."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from planwright.checkpoints.gates import Decision, Gate
from planwright.checkpoints.plans import RecordedPlan
from planwright.checkpoints.runs import Run, Runs
from planwright.checkpoints.stores import Stores, open_stores
from planwright.graph.errors import RunError
from planwright.graph.plan import CheckedStep, Plan, PlanStep
from planwright.graph.results import TERMINAL, RunStatus

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MakeRun = Callable[..., Run]
Begin = Callable[..., Awaitable[int]]
STEP = PlanStep(id="s1", capability="a.b")
PLAN = Plan(plan_id="plan_1", goal="g", steps=(STEP,))
CHECKED = CheckedStep(
    step=STEP, uid="uid_1", needs=(), effect="pure", mode="read_only", risk="None", gated=False, reason="r"
)

HOLDER = """
import asyncio, sys
from pathlib import Path
from planwright.checkpoints.runs import Run
from planwright.checkpoints.records import open_records
records = open_records(Path(sys.argv[1]))
run = Run.model_validate_json(sys.argv[2])
print(asyncio.run(records.runs.lease(run, 1e9, 1000.0)), flush=True)
sys.stdin.read()
"""


def holder(stores: Stores, run: Run) -> subprocess.Popen[str]:
    """Start a process that leases a run for ages, and wait until it has."""
    folder = str(stores.database.path.parent)
    command = [sys.executable, "-c", HOLDER, folder, run.model_dump_json()]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "1\n"
    return process


async def test_a_run_held_by_a_live_process_is_refused_by_its_pid(stores: Stores, make_run: MakeRun) -> None:
    run = make_run()
    with holder(stores, run) as process:
        with pytest.raises(RunError, match=f"being worked on by process {process.pid}"):
            await stores.runs.lease(run, 60, 1001.0)
        process.kill()


async def test_a_run_of_a_dead_process_is_taken_over_with_a_higher_token(
    stores: Stores, make_run: MakeRun
) -> None:
    run = make_run()
    with holder(stores, run) as process:
        process.kill()
    assert await stores.runs.lease(run, 60, 1001.0) == 2


async def test_a_pid_that_was_given_to_another_process_counts_as_dead(
    stores: Stores, make_run: MakeRun, begin: Begin
) -> None:
    await begin()
    owner = f"{os.getpid()}:1:0123abcd"
    stores.database.call("owner", lambda c: c.execute("UPDATE runs SET owner=?", (owner,)).rowcount)
    assert await stores.runs.lease(make_run(), 60, 1001.0) == 2


async def test_a_second_worker_of_the_same_process_is_refused(stores: Stores, make_run: MakeRun) -> None:
    await stores.runs.lease(make_run(), 60, 1000.0)
    with pytest.raises(RunError, match="being worked on"):
        await Runs(stores.database).lease(make_run(), 60, 1030.0)


@pytest.mark.parametrize("way", ["expired", "released"])
async def test_a_lease_that_has_ended_can_be_taken(stores: Stores, make_run: MakeRun, way: str) -> None:
    token = await stores.runs.lease(make_run(), 60, 1000.0)
    if way == "released":
        await stores.runs.release("run_1", token)
    now = 1001.0 if way == "released" else 1060.0
    assert await stores.runs.lease(make_run(), 60, now) == token + 1


async def test_a_renewed_lease_holds_longer(stores: Stores, make_run: MakeRun) -> None:
    token = await stores.runs.lease(make_run(), 60, 1000.0)
    await stores.runs.renew("run_1", token, 1200.0)
    with pytest.raises(RunError, match="being worked on"):
        await stores.runs.lease(make_run(), 60, 1100.0)


async def test_an_old_token_can_neither_renew_nor_release(stores: Stores, make_run: MakeRun) -> None:
    old = await stores.runs.lease(make_run(), 60, 1000.0)
    await stores.runs.lease(make_run(), 60, 1060.0)
    await stores.runs.release("run_1", old)
    with pytest.raises(RunError, match="being worked on"):
        await stores.runs.lease(make_run(), 60, 1061.0)


async def test_a_thread_has_one_open_run(stores: Stores, make_run: MakeRun) -> None:
    await stores.runs.lease(make_run("run_1"), 60, 1000.0)
    with pytest.raises(RunError, match="run_1 on thread thread_1 has not ended"):
        await stores.runs.lease(make_run("run_2"), 60, 1000.0)
    await stores.runs.end("run_1", "completed", "done", NOW)
    assert await stores.runs.lease(make_run("run_2"), 60, 1000.0) == 1
    newest = await stores.runs.latest("thread_1")
    assert newest is not None
    assert newest.run_id == "run_2"


async def test_a_run_ends_once(stores: Stores, begin: Begin) -> None:
    await begin()
    await stores.runs.end("run_1", "completed", "first", NOW)
    await stores.runs.end("run_1", "failed", "second", NOW)
    await stores.runs.set_status("run_1", "running")
    run = await stores.runs.latest("thread_1")
    assert run is not None
    assert (run.status, run.answer, run.ended, run.ended_at) == ("completed", "first", True, NOW.isoformat())


@pytest.mark.parametrize("status", ["running", "waiting", *sorted(TERMINAL)])
def test_only_a_final_status_ends_a_run(make_run: MakeRun, status: RunStatus) -> None:
    assert make_run().model_copy(update={"status": status}).ended == (status not in ("running", "waiting"))


async def test_a_run_comes_back_as_it_was_written(stores: Stores, make_run: MakeRun) -> None:
    written = make_run().model_copy(
        update={"request": "Grüße 🧾", "messages": [{"type": "human"}], "context": {"dry_run": False}}
    )
    await stores.runs.lease(written, 60, 1000.0)
    found = await stores.runs.latest("thread_1")
    assert found is not None
    assert found.model_copy(update={"owner": None, "lease_token": 0, "lease_until": 0}) == written
    assert await stores.runs.latest("thread_2") is None


@pytest.mark.parametrize(
    ("gate", "answer", "may_run"),
    [(False, None, True), (True, None, False), (True, "approve", True), (True, "reject", False)],
    ids=["no gate needed", "undecided", "approved", "rejected"],
)
async def test_a_recorded_plan_may_run_when_nobody_has_to_approve_it_or_somebody_has(
    stores: Stores, begin: Begin, gate: bool, answer: str | None, may_run: bool
) -> None:
    await begin()
    recorded = RecordedPlan(plan=PLAN, checked=[CHECKED], gate_id="gate_1" if gate else None)
    await stores.plans.record("run_1", "acme", recorded, NOW)
    await stores.gates.open(_gate(PLAN.plan_hash))
    if answer:
        decision = Decision.model_validate({"answer": answer, "decided_by": "sam", "channel": "x"})
        await stores.gates.decide("gate_1", decision, NOW)
    steps = (await stores.plans.runnable("run_1", PLAN.plan_hash)).steps
    assert steps == ({"uid_1": CHECKED} if may_run else {})


async def test_a_plan_whose_gate_showed_something_else_may_not_run(stores: Stores, begin: Begin) -> None:
    await begin()
    recorded = RecordedPlan(plan=PLAN, checked=[CHECKED], gate_id="gate_1")
    await stores.plans.record("run_1", "acme", recorded, NOW)
    await stores.gates.open(_gate("0" * 64))
    await stores.gates.decide("gate_1", Decision(answer="approve", decided_by="s", channel="x"), NOW)
    assert (await stores.plans.runnable("run_1", PLAN.plan_hash)).steps == {}


async def test_a_plan_that_is_not_recorded_for_this_run_may_not_run(stores: Stores, begin: Begin) -> None:
    await begin()
    await stores.plans.record("run_1", "acme", RecordedPlan(plan=PLAN, checked=[CHECKED], gate_id=None), NOW)
    assert (await stores.plans.runnable("run_2", PLAN.plan_hash)).steps == {}
    assert (await stores.plans.runnable("run_1", "0" * 64)).steps == {}


def test_opening_the_stores_touches_no_file(tmp_path: Path) -> None:
    open_stores(tmp_path / "store").close()
    assert list(tmp_path.iterdir()) == []


async def test_a_plan_that_is_asked_for_anew_may_run_by_its_newest_gate_only(
    stores: Stores, begin: Begin
) -> None:
    await begin()
    for gate in ("gate_1", "gate_2"):
        recorded = RecordedPlan(plan=PLAN, checked=[CHECKED], gate_id=gate)
        await stores.plans.record("run_1", "acme", recorded, NOW)
        await stores.gates.open(_gate(PLAN.plan_hash).model_copy(update={"gate_id": gate}))
    approved = Decision(answer="approve", decided_by="sam", channel="x")
    await stores.gates.decide("gate_1", approved, NOW)
    assert (await stores.plans.runnable("run_1", PLAN.plan_hash)).steps == {}
    await stores.gates.decide("gate_2", approved, NOW)
    assert list((await stores.plans.runnable("run_1", PLAN.plan_hash)).steps) == ["uid_1"]


async def test_a_plan_never_loses_the_gate_it_had(stores: Stores, begin: Begin) -> None:
    await begin()
    for gate in ("gate_1", None):
        recorded = RecordedPlan(plan=PLAN, checked=[CHECKED], gate_id=gate)
        await stores.plans.record("run_1", "acme", recorded, NOW)
    assert (await stores.plans.runnable("run_1", PLAN.plan_hash)).steps == {}


async def test_a_plan_on_record_is_read_by_its_hash(stores: Stores, begin: Begin) -> None:
    await begin()
    recorded = RecordedPlan(plan=PLAN, checked=[CHECKED], gate_id=None)
    await stores.plans.record("run_1", "acme", recorded, NOW)
    assert await stores.plans.read("run_1", PLAN.plan_hash) == PLAN
    assert await stores.plans.read("run_2", PLAN.plan_hash) is None


def _gate(shown_hash: str) -> Gate:
    return Gate(
        gate_id="gate_1",
        thread_id="thread_1",
        run_id="run_1",
        tenant="acme",
        kind="plan",
        step_uid=None,
        shown_hash=shown_hash,
        shown={},
        requested_at=NOW,
        expires_at=NOW.replace(hour=13),
        status="open",
    )
