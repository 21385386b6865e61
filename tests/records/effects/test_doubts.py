"""Effects in doubt in the ledger: which there are, who may not repeat them, and how they are settled."""

from __future__ import annotations

import os
import socket
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from planwright.domain.doubt import EffectAnswer
from planwright.domain.errors import CapabilityForbidden, GateError
from planwright.domain.hashing import sha256
from planwright.domain.lease import Lease
from planwright.domain.results import StepResult
from planwright.records.effects.ledger import EffectCall, EffectStatus
from planwright.records.stores import Stores

NOW = datetime(2026, 11, 22, 6, tzinfo=UTC)
Begin = Callable[..., Awaitable[Lease]]
CALL = EffectCall(
    lease=Lease("acme", "thread_1", "run_1", 1),
    step_uid="step_1",
    capability="mail.send",
    effect="blind",
    args={"to": "jo"},
)
OTHER = replace(CALL, step_uid="step_2")


async def settled(stores: Stores, call: EffectCall, status: EffectStatus | None, error: str = "?") -> None:
    await stores.ledger.intend(call, NOW)
    if status:
        await stores.ledger.settle(call, status, NOW, error=error)
        code = "in_doubt" if status == "in_doubt" else ""
        result = StepResult(
            uid=call.step_uid, step_id="s1", capability=call.capability, status="failed", code=code
        )
        stores.ledger.settle_step(call.lease, result, NOW)


async def end(stores: Stores) -> None:
    stores.runs.end(CALL.lease, "escalated", "", NOW)


async def test_what_is_marked_is_in_doubt_and_an_intent_only_when_its_run_has_ended(
    stores: Stores, begin: Begin
) -> None:
    await begin()
    await settled(stores, CALL, "in_doubt", "the line went dead\nlook for it")
    await settled(stores, replace(OTHER, args={"to": "kim"}), None)
    (first,) = await stores.doubts.of_run("run_1")
    assert (first.key, first.args, first.why) == (CALL.key, {"to": "jo"}, "the line went dead")
    await end(stores)
    assert [doubt.args["to"] for doubt in await stores.doubts.of_run("run_1")] == ["jo", "kim"]


async def test_an_intent_whose_step_has_ended_is_in_doubt_while_its_run_goes_on(
    stores: Stores, begin: Begin
) -> None:
    await begin()
    await settled(stores, CALL, None)
    assert await stores.doubts.of_run("run_1") == []
    ended = StepResult(uid="step_1", step_id="s1", capability="mail.send", status="failed", code="in_doubt")
    stores.ledger.settle_step(CALL.lease, ended, NOW)
    assert [doubt.key for doubt in await stores.doubts.of_run("run_1")] == [CALL.key]


async def test_the_same_call_is_refused_on_its_thread_until_it_is_decided(
    stores: Stores, begin: Begin
) -> None:
    await begin()
    await settled(stores, CALL, "in_doubt")
    with pytest.raises(CapabilityForbidden, match=r"nobody knows whether mail\.send has happened already"):
        await stores.ledger.intend(OTHER, NOW)
    await stores.ledger.intend(replace(OTHER, args={"to": "kim"}), NOW)
    await stores.ledger.intend(replace(OTHER, lease=await begin("run_2", "thread_2")), NOW)
    await end(stores)
    later = replace(OTHER, lease=await begin("run_3"))
    with pytest.raises(CapabilityForbidden, match=r"run run_1") as refused:
        await stores.ledger.intend(later, NOW)
    assert "planwright respond run_1 --happened KEY" in refused.value.next_step
    call = ("mail.send", sha256({"to": "jo"}))
    assert set(await stores.doubts.same_as("thread_1", [call, ("mail.send", "x")])) == {call}
    answers = [EffectAnswer(key=d.key, happened=True) for d in await stores.doubts.of_run("run_1")]
    await stores.doubts.decide("run_1", answers, "kim", NOW)
    assert (await stores.ledger.intend(later, NOW)).fresh


async def test_the_call_in_doubt_itself_answers_from_the_record(stores: Stores, begin: Begin) -> None:
    await begin()
    await settled(stores, CALL, "in_doubt")
    assert (await stores.ledger.intend(CALL, NOW)).status == "in_doubt"


@pytest.mark.parametrize(
    ("happened", "effect", "step"),
    [
        (True, ("done", "confirmed by kim"), ("completed", "confirmed", {"id": 3})),
        (False, ("failed", "it did not happen, says kim"), ("failed", "did_not_happen", None)),
    ],
)
async def test_a_decision_changes_ledger_and_step_together(
    stores: Stores,
    begin: Begin,
    happened: bool,
    effect: tuple[str, str],
    step: tuple[str, str, object],
) -> None:
    await begin()
    await settled(stores, CALL, "in_doubt")
    await end(stores)
    answer = EffectAnswer(key=CALL.key[:6], happened=happened, result={"id": 3} if happened else None)
    await stores.doubts.decide("run_1", [answer], "kim", NOW)
    known = await stores.ledger.intend(CALL, NOW)
    assert (known.status, known.error) == effect
    (result,) = await stores.ledger.settled_steps("run_1")
    assert (result.status, result.code, result.output) == step
    assert await stores.doubts.of_run("run_1") == []


async def test_a_run_that_goes_on_is_decided_at_its_gate(stores: Stores, begin: Begin) -> None:
    await begin()
    await settled(stores, CALL, "in_doubt")
    with pytest.raises(GateError, match="has not ended"):
        await stores.doubts.decide("run_1", [EffectAnswer(key=CALL.key, happened=True)], "kim", NOW)


async def test_either_all_effects_are_decided_or_none(stores: Stores, begin: Begin) -> None:
    await begin()
    await settled(stores, CALL, "in_doubt")
    await settled(stores, replace(OTHER, args={"to": "kim"}), "in_doubt")
    await end(stores)
    with pytest.raises(GateError, match="does not say whether these happened"):
        await stores.doubts.decide("run_1", [EffectAnswer(key=CALL.key, happened=True)], "kim", NOW)
    assert len(await stores.doubts.of_run("run_1")) == 2


async def test_making_a_chain_is_never_in_doubt(stores: Stores, begin: Begin) -> None:
    await begin()
    await settled(stores, replace(CALL, capability="tool.create_chain"), None)
    await end(stores)
    assert await stores.doubts.of_run("run_1") == []


async def test_what_a_living_process_may_still_send_cannot_be_said_not_to_have_happened(
    stores: Stores, begin: Begin
) -> None:
    lease = await begin()
    await settled(stores, replace(CALL, lease=lease), None)
    stores.runs.end(lease, "escalated", "", NOW)
    (doubt,) = await stores.doubts.of_run("run_1")
    sender = f"process {os.getpid()} on {socket.gethostname()}"
    assert (doubt.still_sent_by, doubt.why) == (sender, f"it may still be sent by {sender}")
    with pytest.raises(GateError, match="may still be sent"):
        await stores.doubts.decide("run_1", [EffectAnswer(key=doubt.key, happened=False)], "kim", NOW)
    assert len(await stores.doubts.of_run("run_1")) == 1
    await stores.doubts.decide("run_1", [EffectAnswer(key=doubt.key, happened=True)], "kim", NOW)


async def test_no_run_ends_with_an_intent(stores: Stores, begin: Begin) -> None:
    await begin()
    await settled(stores, CALL, None)

    def end_by_hand(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE runs SET ended_at = ? WHERE run_id = 'run_1'", (NOW.isoformat(),))

    with pytest.raises(Exception, match="a run does not end while it has begun an effect"):
        await stores.database.run("end", end_by_hand)
    await end(stores)
    query = "SELECT status, ended_at FROM effects"
    (row,) = await stores.database.read(lambda c: [tuple(row) for row in c.execute(query)])
    assert row[0] == "in_doubt"
    assert (await stores.runs.read("run_1")).ended_at == NOW.isoformat()  # type: ignore[union-attr]
