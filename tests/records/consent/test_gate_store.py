"""Gates: one decision a row, and only over what was shown, in time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta

import pytest

from planwright.domain.errors import GateError
from planwright.domain.hashing import sha256
from planwright.domain.lease import Lease
from planwright.domain.plan import Plan
from planwright.records.consent.gate import Decision, Gate, GateAnswer, gate_id
from planwright.records.stores import Stores, open_stores
from planwright.store.time_marks import SETTLE_S
from tests.opened_store import store_url
from tests.patience import PATIENCE_S
from tests.turned_clock import NOON, Machine

Begin = Callable[..., Awaitable[Lease]]
NOW = NOON
LATER = NOW + timedelta(seconds=60)
APPROVE = Decision(answer="approve", decided_by="sam", channel="terminal")
REJECT = Decision(answer="reject", decided_by="priya", channel="studio", reason="too expensive")


def gate(name: str = "gate_a", thread_id: str = "thread_1") -> Gate:
    return Gate(
        gate_id=name,
        thread_id=thread_id,
        run_id="run_1",
        tenant="acme",
        kind="step",
        step_uid="step_1",
        shown_hash="a" * 64,
        card={"args": {"text": "Grüße"}, "risk": "High"},
        requested_at=NOW,
        expires_at=LATER,
        status="open",
    )


@pytest.fixture
def stores(timed: Stores) -> Stores:
    """Stores whose time goes by as the test lets it."""
    return timed


async def test_an_opened_gate_is_read_back_as_it_was_shown(stores: Stores, lease: Lease) -> None:
    shown = gate().model_copy(update={"card_hash": sha256(gate().card)})
    assert await stores.gates.open(gate(), lease) == shown
    assert await stores.gates.read("gate_a") == shown


async def test_an_approval_from_before_they_were_counted_counts(stores: Stores, lease: Lease) -> None:
    await stores.gates.open(gate(), lease)
    await stores.gates.decide("gate_a", APPROVE, NOW)
    await stores.database.run("old", lambda c: c.execute("UPDATE gates SET approvals = NULL"))
    found = await stores.gates.read("gate_a")
    assert [(one.by, one.channel) for one in found.approvals] == [("sam", "terminal")]


async def test_opening_a_gate_again_does_not_undo_its_decision(stores: Stores, lease: Lease) -> None:
    await stores.gates.open(gate(), lease)
    decided = await stores.gates.decide("gate_a", REJECT, NOW)
    assert await stores.gates.open(gate(), lease) == decided


async def test_a_gate_of_a_run_whose_end_was_asked_for_is_closed_at_once(
    stores: Stores, lease: Lease
) -> None:
    await stores.runs.cancel("run_1", "ann", NOW)
    opened = await stores.gates.open(gate(), lease)
    assert (opened.status, opened.decided_by) == ("cancelled", "ann")
    assert await stores.gates.waiting() == []


@pytest.mark.parametrize(("decision", "status"), [(APPROVE, "approved"), (REJECT, "rejected")])
async def test_a_decision_is_recorded_with_who_how_and_why(
    stores: Stores, lease: Lease, decision: Decision, status: str
) -> None:
    await stores.gates.open(gate(), lease)
    await stores.gates.decide("gate_a", decision, NOW)
    found = await stores.gates.read("gate_a")
    assert (found.status, found.decided_by, found.channel) == (status, decision.decided_by, decision.channel)
    assert (found.reason, found.decided_at) == (decision.reason, NOW)


@pytest.mark.parametrize("second", [APPROVE, REJECT], ids=["approve", "reject"])
async def test_a_second_decision_is_refused_and_changes_nothing(
    stores: Stores, lease: Lease, second: Decision
) -> None:
    await stores.gates.open(gate(), lease)
    first = await stores.gates.decide("gate_a", REJECT, NOW)
    with pytest.raises(GateError, match="gate_a was already rejected by priya"):
        await stores.gates.decide("gate_a", second, NOW)
    assert await stores.gates.read("gate_a") == first


@pytest.mark.parametrize("round_", range(5))
def test_of_two_people_who_answer_at_once_one_decides(stores: Stores, lease: Lease, round_: int) -> None:
    asyncio.run(stores.gates.open(gate(), lease))
    together = threading.Barrier(2)

    def answer(word: GateAnswer) -> str:
        decision = Decision(answer=word, decided_by=word, channel="terminal")
        together.wait(PATIENCE_S)
        try:
            return asyncio.run(stores.gates.decide("gate_a", decision, NOW)).status
        except GateError:
            return "refused"

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(answer, ("approve", "reject")))
    final = asyncio.run(stores.gates.read("gate_a"))
    assert sorted(answers) == sorted([final.status, "refused"])
    assert final.status == ("approved" if final.decided_by == "approve" else "rejected")


async def test_an_answer_that_comes_too_late_is_refused_and_the_gate_stays_closed(
    stores: Stores, lease: Lease, machine: Machine
) -> None:
    await stores.gates.open(gate(), lease)
    machine.pass_by(minutes=1)
    with pytest.raises(GateError, match="expired at 2026-11-21 12:01:00 UTC; nothing was run"):
        await stores.gates.decide("gate_a", APPROVE, LATER)
    assert (await stores.gates.read("gate_a")).status == "expired"
    with pytest.raises(GateError):
        await stores.gates.decide("gate_a", APPROVE, NOW)


async def test_a_gate_is_open_until_the_moment_it_expires(
    stores: Stores, lease: Lease, machine: Machine
) -> None:
    await stores.gates.open(gate(), lease)
    machine.pass_by(seconds=59.99)
    assert (await stores.gates.decide("gate_a", APPROVE, LATER)).status == "approved"


async def test_an_expiry_does_not_touch_a_decided_gate(stores: Stores, lease: Lease) -> None:
    await stores.gates.open(gate(), lease)
    await stores.gates.decide("gate_a", APPROVE, NOW)
    assert (await stores.gates.read("gate_a")).status == "approved"


async def test_an_answer_that_names_another_hash_is_refused_and_the_gate_stays_open(
    stores: Stores, lease: Lease
) -> None:
    await stores.gates.open(gate(), lease)
    stale = APPROVE.model_copy(update={"shown_hash": "b" * 64})
    with pytest.raises(
        GateError, match="the answer names plan_hash bbbbbbbbbbbb, the gate shows aaaaaaaaaaaa"
    ):
        await stores.gates.decide("gate_a", stale, NOW)
    assert (await stores.gates.read("gate_a")).status == "open"


async def test_an_answer_that_names_the_right_hash_counts(stores: Stores, lease: Lease) -> None:
    await stores.gates.open(gate(), lease)
    decision = APPROVE.model_copy(update={"shown_hash": "a" * 64})
    assert (await stores.gates.decide("gate_a", decision, NOW)).status == "approved"


async def test_an_unknown_gate_is_refused(stores: Stores) -> None:
    with pytest.raises(GateError, match="there is no gate gate_x"):
        await stores.gates.decide("gate_x", APPROVE, NOW)
    with pytest.raises(GateError, match="there is no gate gate_x"):
        await stores.gates.read("gate_x")


async def test_the_open_gates_of_a_thread_are_listed_oldest_first(stores: Stores, lease: Lease) -> None:
    later = gate("gate_a").model_copy(
        update={"requested_at": NOW - timedelta(days=1)}
    )  # the clock was set back
    for opened in (gate("gate_b"), gate("gate_c"), gate("gate_d", "thread_2"), later):
        await stores.gates.open(opened, lease)
    await stores.gates.decide("gate_c", APPROVE, NOW)
    assert [found.gate_id for found in await stores.gates.of_thread("thread_1")] == ["gate_b", "gate_a"]


def test_a_gate_has_one_name_per_run_kind_and_subject() -> None:
    names = {gate_id("run_1", "plan", "x"), gate_id("run_1", "step", "x"), gate_id("run_2", "plan", "x")}
    assert len(names) == 3
    assert gate_id("run_1", "plan", "x") in names


PLAN = Plan.model_validate({"steps": [{"id": "s1", "capability": "a.b"}]})
EDIT = Decision(answer="edit", decided_by="sam", channel="terminal", plan=PLAN)
RESPOND = Decision(answer="respond", decided_by="sam", channel="terminal", reason="shorter")


def plan_gate(replans_left: int = 1) -> Gate:
    return gate().model_copy(
        update={"kind": "plan", "step_uid": None, "card": {"replans_left": replans_left}}
    )


@pytest.mark.parametrize(
    ("decision", "status", "plan"),
    [(EDIT, "edited", PLAN), (RESPOND, "responded", None), (APPROVE, "approved", None)],
)
async def test_the_gate_of_a_plan_keeps_the_plan_of_an_edit(
    stores: Stores, lease: Lease, decision: Decision, status: str, plan: Plan | None
) -> None:
    await stores.gates.open(plan_gate(), lease)
    found = await stores.gates.decide("gate_a", decision, NOW)
    assert (found.status, found.edited) == (status, plan)


async def test_the_gate_of_a_step_takes_no_plan(stores: Stores, lease: Lease) -> None:
    await stores.gates.open(gate(), lease)
    with pytest.raises(GateError, match="asks about calls, not about a plan"):
        await stores.gates.decide("gate_a", EDIT, NOW)
    assert (await stores.gates.read("gate_a")).status == "open"


async def test_a_response_without_a_replan_left_is_refused(stores: Stores, lease: Lease) -> None:
    await stores.gates.open(plan_gate(replans_left=0), lease)
    with pytest.raises(GateError, match="no re-plan is left"):
        await stores.gates.decide("gate_a", RESPOND, NOW)
    assert (await stores.gates.read("gate_a")).status == "open"


@pytest.mark.parametrize(
    "decision",
    [EDIT.model_copy(update={"plan": None}), APPROVE.model_copy(update={"plan": PLAN})],
    ids=["an edit without", "an approval with"],
)
async def test_an_edit_and_only_an_edit_brings_a_plan(
    stores: Stores, lease: Lease, decision: Decision
) -> None:
    await stores.gates.open(plan_gate(), lease)
    with pytest.raises(GateError, match="an edit and only an edit"):
        await stores.gates.decide("gate_a", decision, NOW)
    assert (await stores.gates.read("gate_a")).status == "open"


MOVES = [
    (timedelta(0), 59.0, False),
    (timedelta(0), 60.0, True),
    (timedelta(days=1), 1.0, False),
    (-timedelta(days=1), 1.0, False),
    (-timedelta(days=1), 61.0, True),
]


@pytest.mark.parametrize(("clock_moves", "passes_s", "late"), MOVES)
async def test_a_gate_expires_by_the_time_that_went_by_whatever_the_clock_says(
    stores: Stores, lease: Lease, machine: Machine, clock_moves: timedelta, passes_s: float, late: bool
) -> None:
    await stores.gates.open(gate(), lease)
    machine.turn(seconds=clock_moves.total_seconds())
    machine.pass_by(seconds=passes_s)
    if late:
        with pytest.raises(GateError, match="expired"):
            await stores.gates.decide("gate_a", APPROVE, machine.clock())
    else:
        assert (await stores.gates.decide("gate_a", APPROVE, machine.clock())).status == "approved"


async def test_after_a_new_start_of_the_machine_the_clock_decides_once_it_has_stood(
    stores: Stores, lease: Lease, machine: Machine
) -> None:
    await stores.gates.open(gate().model_copy(update={"expires_at": NOW + timedelta(hours=1)}), lease)
    machine.start_again(days=7)
    path = stores.database.path.parent
    with closing(open_stores(path, clock=machine.clock, timer=machine.timer(), url=store_url())) as after:
        with pytest.raises(GateError, match="if this machine was off for as long as its clock says"):
            await after.gates.decide("gate_a", APPROVE, machine.clock())
        assert (await after.gates.read("gate_a")).status == "open"
        machine.pass_by(seconds=SETTLE_S)
        with pytest.raises(GateError, match="gate_a expired"):
            await after.gates.decide("gate_a", APPROVE, machine.clock())


async def test_reading_closes_nothing_and_going_on_closes_the_late_gates_of_its_run_alone(
    stores: Stores, lease: Lease, begin: Begin, machine: Machine
) -> None:
    other = await begin("run_2", "thread_2")
    await stores.gates.open(gate(), lease)
    await stores.gates.open(gate("gate_b", "thread_2").model_copy(update={"run_id": "run_2"}), other)
    machine.pass_by(days=9)
    assert (await stores.gates.read("gate_a")).status == "open"
    await stores.gates.expire(lease, machine.clock())
    assert (await stores.gates.read("gate_a")).status == "expired"
    assert (await stores.gates.read("gate_b")).status == "open"


async def test_a_late_gate_closes_though_the_decision_over_another_is_refused_with_it(
    stores: Stores, lease: Lease, machine: Machine
) -> None:
    late, open_ = gate(), gate("gate_b").model_copy(update={"expires_at": LATER + timedelta(days=1)})
    for each in (open_, late):
        await stores.gates.open(each, lease)
    machine.pass_by(minutes=1)
    with pytest.raises(GateError, match="gate_a expired"):
        await stores.gates.decide_all({"gate_b": APPROVE, "gate_a": APPROVE}, LATER)
    assert [(await stores.gates.read(name)).status for name in ("gate_a", "gate_b")] == ["expired", "open"]
    assert [gate.gate_id for gate in await stores.gates.waiting()] == ["gate_b"]


async def test_a_late_gate_that_nobody_touches_is_listed_as_expired_and_stays(
    stores: Stores, lease: Lease, machine: Machine
) -> None:
    await stores.gates.open(gate(), lease)
    machine.pass_by(minutes=1)
    (listed,) = await stores.gates.waiting()
    assert (listed.status, (await stores.gates.read("gate_a")).status) == ("expired", "open")


@pytest.mark.sqlite
async def test_open_gates_are_listed_without_reading_the_closed_ones(stores: Stores, lease: Lease) -> None:
    await stores.gates.open(gate(), lease)
    query = "EXPLAIN QUERY PLAN SELECT * FROM gates WHERE status = 'open' ORDER BY rowid"
    steps = await stores.database.read(lambda c: [row["detail"] for row in c.execute(query)])
    assert steps == ["SEARCH gates USING INDEX gates_open (status=?)"]
