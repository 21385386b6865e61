"""Gates: one decision a row, and only over what was shown, in time."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from planwright.checkpoints.gates import Answer, Decision, Gate, gate_id
from planwright.checkpoints.stores import Stores
from planwright.graph.canonical import sha256
from planwright.graph.errors import GateError
from planwright.graph.plan import Plan
from tests.patience import PATIENCE_S

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
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
        shown={"args": {"text": "Grüße"}, "risk": "High"},
        requested_at=NOW,
        expires_at=LATER,
        status="open",
    )


async def test_an_opened_gate_is_read_back_as_it_was_shown(stores: Stores) -> None:
    shown = gate().model_copy(update={"card_hash": sha256(gate().shown)})
    assert await stores.gates.open(gate()) == shown
    assert await stores.gates.read("gate_a", NOW) == shown


async def test_an_approval_from_before_they_were_counted_counts(stores: Stores) -> None:
    await stores.gates.open(gate())
    await stores.gates.decide("gate_a", APPROVE, NOW)
    await stores.database.run("old", lambda c: c.execute("UPDATE gates SET approvals = NULL"))
    found = await stores.gates.read("gate_a", NOW)
    assert [(one.by, one.channel) for one in found.approvals] == [("sam", "terminal")]


async def test_opening_a_gate_again_does_not_undo_its_decision(stores: Stores) -> None:
    await stores.gates.open(gate())
    decided = await stores.gates.decide("gate_a", REJECT, NOW)
    assert await stores.gates.open(gate()) == decided


@pytest.mark.parametrize(("decision", "status"), [(APPROVE, "approved"), (REJECT, "rejected")])
async def test_a_decision_is_recorded_with_who_how_and_why(
    stores: Stores, decision: Decision, status: str
) -> None:
    await stores.gates.open(gate())
    await stores.gates.decide("gate_a", decision, NOW)
    found = await stores.gates.read("gate_a", NOW)
    assert (found.status, found.decided_by, found.channel) == (status, decision.decided_by, decision.channel)
    assert (found.reason, found.decided_at) == (decision.reason, NOW)


@pytest.mark.parametrize("second", [APPROVE, REJECT], ids=["approve", "reject"])
async def test_a_second_decision_is_refused_and_changes_nothing(stores: Stores, second: Decision) -> None:
    await stores.gates.open(gate())
    first = await stores.gates.decide("gate_a", REJECT, NOW)
    with pytest.raises(GateError, match="gate_a was already rejected by priya"):
        await stores.gates.decide("gate_a", second, NOW)
    assert await stores.gates.read("gate_a", NOW) == first


@pytest.mark.parametrize("round_", range(5))
def test_of_two_people_who_answer_at_once_one_decides(stores: Stores, round_: int) -> None:
    asyncio.run(stores.gates.open(gate()))
    together = threading.Barrier(2)

    def answer(word: Answer) -> str:
        decision = Decision(answer=word, decided_by=word, channel="terminal")
        together.wait(PATIENCE_S)
        try:
            return asyncio.run(stores.gates.decide("gate_a", decision, NOW)).status
        except GateError:
            return "refused"

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(answer, ("approve", "reject")))
    final = asyncio.run(stores.gates.read("gate_a", NOW))
    assert sorted(answers) == sorted([final.status, "refused"])
    assert final.status == ("approved" if final.decided_by == "approve" else "rejected")


async def test_an_answer_that_comes_too_late_is_refused_and_the_gate_stays_closed(stores: Stores) -> None:
    await stores.gates.open(gate())
    with pytest.raises(GateError, match="expired at 2026-11-21 12:01:00 UTC; nothing was run"):
        await stores.gates.decide("gate_a", APPROVE, LATER)
    assert (await stores.gates.read("gate_a", LATER)).status == "expired"
    with pytest.raises(GateError):
        await stores.gates.decide("gate_a", APPROVE, NOW)


async def test_a_gate_is_open_until_the_moment_it_expires(stores: Stores) -> None:
    await stores.gates.open(gate())
    assert (
        await stores.gates.decide("gate_a", APPROVE, LATER - timedelta(microseconds=1))
    ).status == "approved"


async def test_an_expiry_does_not_touch_a_decided_gate(stores: Stores) -> None:
    await stores.gates.open(gate())
    await stores.gates.decide("gate_a", APPROVE, NOW)
    assert (await stores.gates.read("gate_a", LATER)).status == "approved"


async def test_an_answer_that_names_another_hash_is_refused_and_the_gate_stays_open(stores: Stores) -> None:
    await stores.gates.open(gate())
    stale = APPROVE.model_copy(update={"shown_hash": "b" * 64})
    with pytest.raises(
        GateError, match="the answer names plan_hash bbbbbbbbbbbb, the gate shows aaaaaaaaaaaa"
    ):
        await stores.gates.decide("gate_a", stale, NOW)
    assert (await stores.gates.read("gate_a", NOW)).status == "open"


async def test_an_answer_that_names_the_right_hash_counts(stores: Stores) -> None:
    await stores.gates.open(gate())
    decision = APPROVE.model_copy(update={"shown_hash": "a" * 64})
    assert (await stores.gates.decide("gate_a", decision, NOW)).status == "approved"


async def test_an_unknown_gate_is_refused(stores: Stores) -> None:
    with pytest.raises(GateError, match="there is no gate gate_x"):
        await stores.gates.decide("gate_x", APPROVE, NOW)
    with pytest.raises(GateError, match="there is no gate gate_x"):
        await stores.gates.read("gate_x", NOW)


async def test_the_open_gates_of_a_thread_are_listed_oldest_first(stores: Stores) -> None:
    younger = gate("gate_a").model_copy(update={"requested_at": NOW + timedelta(seconds=5)})
    for opened in (younger, gate("gate_b"), gate("gate_c"), gate("gate_d", "thread_2")):
        await stores.gates.open(opened)
    await stores.gates.decide("gate_c", APPROVE, NOW)
    assert [found.gate_id for found in await stores.gates.of_thread("thread_1", NOW)] == ["gate_b", "gate_a"]
    assert await stores.gates.of_thread("thread_1", LATER) == []


def test_a_gate_has_one_name_per_run_kind_and_subject() -> None:
    names = {gate_id("run_1", "plan", "x"), gate_id("run_1", "step", "x"), gate_id("run_2", "plan", "x")}
    assert len(names) == 3
    assert gate_id("run_1", "plan", "x") in names


PLAN = Plan.model_validate({"steps": [{"id": "s1", "capability": "a.b"}]})
EDIT = Decision(answer="edit", decided_by="sam", channel="terminal", plan=PLAN)
RESPOND = Decision(answer="respond", decided_by="sam", channel="terminal", reason="shorter")


def plan_gate(replans_left: int = 1) -> Gate:
    return gate().model_copy(
        update={"kind": "plan", "step_uid": None, "shown": {"replans_left": replans_left}}
    )


@pytest.mark.parametrize(
    ("decision", "status", "plan"),
    [(EDIT, "edited", PLAN), (RESPOND, "responded", None), (APPROVE, "approved", None)],
)
async def test_the_gate_of_a_plan_keeps_the_plan_of_an_edit(
    stores: Stores, decision: Decision, status: str, plan: Plan | None
) -> None:
    await stores.gates.open(plan_gate())
    found = await stores.gates.decide("gate_a", decision, NOW)
    assert (found.status, found.edited) == (status, plan)


@pytest.mark.parametrize("decision", [EDIT, RESPOND], ids=["edit", "respond"])
async def test_the_gate_of_a_step_takes_no_edit_and_no_response(stores: Stores, decision: Decision) -> None:
    await stores.gates.open(gate())
    with pytest.raises(GateError, match="it asks about one call"):
        await stores.gates.decide("gate_a", decision, NOW)
    assert (await stores.gates.read("gate_a", NOW)).status == "open"


async def test_a_response_without_a_replan_left_is_refused(stores: Stores) -> None:
    await stores.gates.open(plan_gate(replans_left=0))
    with pytest.raises(GateError, match="no re-plan is left"):
        await stores.gates.decide("gate_a", RESPOND, NOW)
    assert (await stores.gates.read("gate_a", NOW)).status == "open"


@pytest.mark.parametrize(
    "decision",
    [EDIT.model_copy(update={"plan": None}), APPROVE.model_copy(update={"plan": PLAN})],
    ids=["an edit without", "an approval with"],
)
async def test_an_edit_and_only_an_edit_brings_a_plan(stores: Stores, decision: Decision) -> None:
    await stores.gates.open(plan_gate())
    with pytest.raises(GateError, match="an edit and only an edit"):
        await stores.gates.decide("gate_a", decision, NOW)
    assert (await stores.gates.read("gate_a", NOW)).status == "open"
