"""The effect ledger: one key, one call; fencing; replays."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import JsonValue

from planwright.domain.errors import LeaseLost, LedgerConflict
from planwright.domain.lease import Lease
from planwright.domain.results import StepResult
from planwright.records.effects.ledger import EffectCall, EffectStatus
from planwright.records.runs import Run
from planwright.records.stores import Stores

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
Begin = Callable[..., Awaitable[Lease]]
LEASE = Lease("acme", "thread_1", "run_1", 1)
CALL = EffectCall(
    lease=LEASE,
    step_uid="step_1",
    capability="tickets.create",
    effect="idempotent",
    args={"title": "a", "amount": "EUR 1"},
)


async def test_a_new_effect_is_written_down_as_an_intent(stores: Stores, begin: Begin) -> None:
    assert (await begin()).token == 1
    recorded = await stores.ledger.intend(CALL, NOW)
    assert (recorded.status, recorded.fresh) == ("intent", True)


async def test_an_effect_without_an_end_is_known_as_an_old_intent(stores: Stores, begin: Begin) -> None:
    await begin()
    await stores.ledger.intend(CALL, NOW)
    again = await stores.ledger.intend(CALL, NOW)
    assert (again.status, again.fresh) == ("intent", False)


@pytest.mark.parametrize(
    ("status", "result", "error"),
    [("done", {"id": 7, "tags": ["ü", None]}, ""), ("failed", None, "no such host"), ("in_doubt", None, "?")],
)
async def test_a_settled_effect_is_replayed_from_its_record(
    stores: Stores, begin: Begin, status: EffectStatus, result: JsonValue, error: str
) -> None:
    await begin()
    await stores.ledger.intend(CALL, NOW)
    await stores.ledger.settle(CALL, status, NOW, result, error)
    known = await stores.ledger.intend(CALL, NOW)
    assert (known.status, known.fresh, known.result, known.error) == (status, False, result, error)


async def test_the_same_key_with_other_arguments_is_a_conflict(stores: Stores, begin: Begin) -> None:
    await begin()
    await stores.ledger.intend(CALL, NOW)
    with pytest.raises(LedgerConflict, match=r"tickets\.create was recorded .* with other arguments"):
        await stores.ledger.intend(replace(CALL, args={"title": "b"}), NOW)


async def test_the_order_of_arguments_makes_no_conflict(stores: Stores, begin: Begin) -> None:
    await begin()
    await stores.ledger.intend(CALL, NOW)
    turned = replace(CALL, args=dict(reversed(CALL.args.items())))
    assert not (await stores.ledger.intend(turned, NOW)).fresh


@pytest.mark.parametrize(
    "other",
    [
        {"lease": replace(LEASE, tenant="other")},
        {"lease": replace(LEASE, thread_id="thread_2")},
        {"step_uid": "step_2"},
        {"attempt": 2},
        {"ordinal": 2},
        {"capability": "tickets.close"},
    ],
    ids=["tenant", "thread_id", "step_uid", "attempt", "ordinal", "capability"],
)
async def test_another_call_has_another_key(stores: Stores, begin: Begin, other: dict[str, Any]) -> None:
    await begin()
    await stores.ledger.intend(CALL, NOW)
    assert (await stores.ledger.intend(replace(CALL, **other), NOW)).fresh


def test_a_key_is_64_hex_digits_and_the_same_every_time() -> None:
    assert CALL.key == replace(CALL, args={}, lease=replace(LEASE, token=9)).key
    assert len(CALL.key) == 64
    assert int(CALL.key, 16) > 0


async def test_an_old_lease_may_not_begin_an_effect(stores: Stores, begin: Begin) -> None:
    old = await begin()
    await stores.leases.release(old)
    new = await begin()
    with pytest.raises(LeaseLost, match="run_1 was taken over by another process"):
        await stores.ledger.intend(replace(CALL, lease=old), NOW)
    assert (await stores.ledger.intend(replace(CALL, lease=new), NOW)).fresh


async def test_an_old_lease_can_neither_read_nor_settle_an_effect_or_a_step(
    stores: Stores, begin: Begin, make_run: Callable[..., Run]
) -> None:
    old = await begin()
    call = replace(CALL, lease=old)
    await stores.ledger.intend(call, NOW)
    await stores.leases.take_over(make_run())
    done = StepResult(uid="u1", step_id="s1", capability="c", status="completed")
    writes: list[Callable[[], Awaitable[object]]] = [
        lambda: stores.ledger.intend(call, NOW),
        lambda: stores.ledger.settle(call, "done", NOW, 1),
    ]
    for write in writes:
        with pytest.raises(LeaseLost):
            await write()
    stores.ledger.settle_step(old, done, NOW)
    assert await stores.ledger.settled_steps("run_1") == []


async def test_an_effect_of_an_unknown_run_is_refused(stores: Stores, begin: Begin) -> None:
    await begin()
    with pytest.raises(LeaseLost):
        await stores.ledger.intend(replace(CALL, lease=replace(LEASE, run_id="run_2")), NOW)


async def test_a_settled_step_is_kept_once_and_comes_back_as_it_was(stores: Stores, begin: Begin) -> None:
    lease, other = await begin(), await begin("run_2", "thread_2")
    first = StepResult(uid="u1", step_id="s1", capability="c", status="completed", output={"n": [1, "ö"]})
    second = StepResult(uid="u2", step_id="s2", capability="c", status="failed", code="rejected", error="no")
    stores.ledger.settle_step(lease, first, NOW)
    stores.ledger.settle_step(lease, second, NOW.replace(hour=13))
    stores.ledger.settle_step(lease, first.model_copy(update={"output": "other"}), NOW)
    stores.ledger.settle_step(other, first, NOW)
    assert await stores.ledger.settled_steps("run_1") == [first, second]
