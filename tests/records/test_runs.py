"""Runs: one process at a time, one open run a thread, and an end that stays."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import JsonValue

from planwright.domain.errors import RunError
from planwright.domain.lease import Lease
from planwright.domain.plan import Plan, PlanStep
from planwright.domain.results import TERMINAL, RunStatus
from planwright.domain.verified_step import VerifiedStep
from planwright.records.consent.gate import Decision, Gate
from planwright.records.plans import PlanGate
from planwright.records.runs import Run
from planwright.records.stores import Stores, open_stores

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MakeRun = Callable[..., Run]
Begin = Callable[..., Awaitable[Lease]]
STEP = PlanStep(id="s1", capability="a.b")
CARD: dict[str, JsonValue] = {"steps": []}
PLAN = Plan(plan_id="plan_1", goal="g", steps=(STEP,))
CHECKED = VerifiedStep(
    step=STEP, uid="uid_1", needs=(), effect="pure", mode="read_only", risk="None", gated=False, reason="r"
)


async def test_a_thread_has_one_open_run(stores: Stores, make_run: MakeRun) -> None:
    first = await stores.leases.take(make_run("run_1"), 60)
    with pytest.raises(RunError, match="run_1 on thread thread_1 has not ended"):
        await stores.leases.take(make_run("run_2"), 60)
    stores.runs.end(first, "completed", "done", NOW)
    assert (await stores.leases.take(make_run("run_2"), 60)).token == first.token + 1
    newest = await stores.runs.latest("thread_1")
    assert newest is not None
    assert newest.run_id == "run_2"


async def test_a_run_ends_once(stores: Stores, begin: Begin) -> None:
    lease = await begin()
    stores.runs.end(lease, "completed", "first", NOW)
    stores.runs.end(lease, "failed", "second", NOW)
    await stores.runs.set_status(lease, "running")
    run = await stores.runs.latest("thread_1")
    assert run is not None
    assert (run.status, run.answer, run.ended, run.ended_at) == ("completed", "first", True, NOW.isoformat())


@pytest.mark.parametrize("status", ["running", "waiting", "paused", *sorted(TERMINAL)])
def test_only_a_final_status_ends_a_run(make_run: MakeRun, status: RunStatus) -> None:
    assert make_run().model_copy(update={"status": status}).ended == (status in TERMINAL)


async def test_a_run_comes_back_as_it_was_written(stores: Stores, make_run: MakeRun) -> None:
    written = make_run().model_copy(
        update={"request": "Grüße 🧾", "messages": [{"type": "human"}], "context": {"dry_run": False}}
    )
    await stores.leases.take(written, 60)
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
    lease = await begin()
    asked = PlanGate("gate_1", CARD) if gate else None
    await stores.plans.record(lease, PLAN, [CHECKED], NOW, gate=asked)
    await stores.gates.open(_gate(PLAN.plan_hash), lease)
    if answer:
        decision = Decision.model_validate({"answer": answer, "decided_by": "sam", "channel": "x"})
        await stores.gates.decide("gate_1", decision, NOW)
    steps = (await stores.plans.runnable("run_1", PLAN.plan_hash)).steps
    assert steps == ({"uid_1": CHECKED} if may_run else {})


async def test_a_plan_whose_gate_showed_something_else_may_not_run(stores: Stores, begin: Begin) -> None:
    lease = await begin()
    await stores.plans.record(lease, PLAN, [CHECKED], NOW, gate=PlanGate("gate_1", CARD))
    await stores.gates.open(_gate("0" * 64), lease)
    await stores.gates.decide("gate_1", Decision(answer="approve", decided_by="s", channel="x"), NOW)
    assert (await stores.plans.runnable("run_1", PLAN.plan_hash)).steps == {}


async def test_a_plan_that_is_not_recorded_for_this_run_may_not_run(stores: Stores, begin: Begin) -> None:
    lease = await begin()
    await stores.plans.record(lease, PLAN, [CHECKED], NOW)
    assert (await stores.plans.runnable("run_2", PLAN.plan_hash)).steps == {}
    assert (await stores.plans.runnable("run_1", "0" * 64)).steps == {}


def test_opening_the_stores_touches_no_file(tmp_path: Path) -> None:
    open_stores(tmp_path / "store").close()
    assert list(tmp_path.iterdir()) == []


async def test_a_plan_that_is_asked_for_anew_may_run_by_its_newest_gate_only(
    stores: Stores, begin: Begin
) -> None:
    lease = await begin()
    for gate in ("gate_1", "gate_2"):
        await stores.plans.record(lease, PLAN, [CHECKED], NOW, gate=PlanGate(gate, CARD))
        await stores.gates.open(_gate(PLAN.plan_hash).model_copy(update={"gate_id": gate}), lease)
    approved = Decision(answer="approve", decided_by="sam", channel="x")
    await stores.gates.decide("gate_1", approved, NOW)
    assert (await stores.plans.runnable("run_1", PLAN.plan_hash)).steps == {}
    await stores.gates.decide("gate_2", approved, NOW)
    assert list((await stores.plans.runnable("run_1", PLAN.plan_hash)).steps) == ["uid_1"]


@pytest.mark.parametrize("opened", [True, False])
async def test_a_plan_never_loses_a_gate_that_was_open(stores: Stores, begin: Begin, opened: bool) -> None:
    lease = await begin()
    await stores.plans.record(lease, PLAN, [CHECKED], NOW, gate=PlanGate("gate_1", CARD))
    if opened:
        await stores.gates.open(_gate(PLAN.plan_hash), lease)
    await stores.plans.record(lease, PLAN, [CHECKED], NOW)
    assert bool((await stores.plans.runnable("run_1", PLAN.plan_hash)).steps) is not opened


async def test_a_plan_on_record_is_read_by_its_hash(stores: Stores, begin: Begin) -> None:
    lease = await begin()
    await stores.plans.record(lease, PLAN, [CHECKED], NOW)
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
        card=CARD,
        requested_at=NOW,
        expires_at=NOW.replace(hour=13),
        status="open",
    )
