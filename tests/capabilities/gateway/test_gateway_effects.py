"""The gateway makes an effect happen once, tries again what may be tried again, and believes no result."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from planwright.capabilities.declaration import capability
from planwright.capabilities.result_notes import noting
from planwright.domain.errors import (
    BudgetExceeded,
    CapabilityError,
    CapabilityRejected,
    CapabilityUnavailable,
    EffectInDoubt,
    LeaseLost,
    LedgerConflict,
)
from planwright.domain.plan import Plan

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MakeBench = Callable[..., Awaitable[Any]]


async def test_a_recorded_result_is_replayed_without_a_second_call(make_bench: MakeBench, deeds: Any) -> None:
    bench = await make_bench(deeds.declare(mode="local_write"))
    assert await bench.call("a.do") == await bench.call("a.do")
    assert len(deeds.calls) == 1


async def test_the_same_step_with_other_arguments_is_a_conflict(make_bench: MakeBench, deeds: Any) -> None:
    bench = await make_bench(deeds.declare(mode="local_write"))
    await bench.call("a.do", what="x")
    with pytest.raises(LedgerConflict):
        await bench.call("a.do", what="y")
    assert len(deeds.calls) == 1


async def test_a_worker_that_lost_its_lease_makes_no_call(make_bench: MakeBench, deeds: Any) -> None:
    bench = await make_bench(deeds.declare(mode="local_write"))
    site = bench.sites["a.do"]
    later = dataclasses.replace(site.lease, token=site.lease.token + 1)
    bench.sites["a.do"] = dataclasses.replace(site, lease=later)
    with pytest.raises(LeaseLost, match="taken over"):
        await bench.call("a.do")
    assert deeds.calls == []


@pytest.mark.parametrize(("effect", "calls"), [("idempotent", 2), ("blind", 1)])
async def test_after_a_crash_only_an_idempotent_call_is_made_again_under_its_key(
    make_bench: MakeBench, deeds: Any, effect: Any, calls: int
) -> None:
    bench = await make_bench(deeds.declare(mode="local_write", effect=effect))
    await bench.call("a.do")
    bench.stores.database.call("crash", lambda c: c.execute("UPDATE effects SET status='intent'").rowcount)
    if effect == "idempotent":
        assert await bench.call("a.do") == "did x"
    else:
        for _ in range(2):
            with pytest.raises(EffectInDoubt, match=r"nobody knows whether a\.do happened"):
                await bench.call("a.do")
        assert bench.effects() == [("a.do", "in_doubt")]
    assert len(deeds.calls) == calls
    assert len({key for _, key in deeds.calls}) == 1


async def test_a_transient_failure_is_tried_again_under_the_same_key(
    make_bench: MakeBench, deeds: Any
) -> None:
    deeds.failures = [CapabilityUnavailable("busy"), CapabilityUnavailable("still busy")]
    bench = await make_bench(deeds.declare(mode="local_write", effect="idempotent"))
    assert await bench.call("a.do") == "did x"
    assert bench.retries == [(1, "busy"), (2, "still busy")]
    assert len(deeds.calls) == 3
    assert len({key for _, key in deeds.calls}) == 1


@pytest.mark.parametrize("retries", [0, 1, 3])
async def test_a_failure_that_stays_is_tried_as_often_as_set_and_recorded(
    make_bench: MakeBench, deeds: Any, retries: int
) -> None:
    deeds.failures = [CapabilityUnavailable(f"busy {n}") for n in range(10)]
    bench = await make_bench(deeds.declare(mode="local_write"), execution={"step_retries": retries})
    with pytest.raises(CapabilityUnavailable, match=f"busy {retries}"):
        await bench.call("a.do")
    assert len(deeds.calls) == retries + 1
    assert bench.effects() == [("a.do", "failed")]


@pytest.mark.parametrize("failure", [CapabilityRejected("no"), ValueError("no"), EffectInDoubt("no")])
async def test_a_final_failure_is_not_tried_again(
    make_bench: MakeBench, deeds: Any, failure: Exception
) -> None:
    deeds.failures = [failure]
    bench = await make_bench(deeds.declare(mode="local_write", effect="idempotent"))
    for _ in range(2):
        with pytest.raises((CapabilityRejected, EffectInDoubt)):
            await bench.call("a.do")
    assert len(deeds.calls) == 1


@pytest.mark.parametrize(
    ("effect", "raised", "calls"),
    [
        ("pure", CapabilityUnavailable, 2),
        ("idempotent", CapabilityUnavailable, 2),
        ("blind", EffectInDoubt, 1),
    ],
)
@pytest.mark.parametrize("where", ["capability", "setting"])
async def test_a_call_that_takes_too_long_is_given_up(
    make_bench: MakeBench, effect: Any, raised: type[Exception], calls: int, where: str
) -> None:
    begun: list[int] = []

    @capability("a.do", mode="local_write", effect=effect, timeout_s=0.03 if where == "capability" else None)
    async def do() -> str:
        """Take ages."""
        begun.append(1)
        await asyncio.sleep(30)
        return "late"

    execution = {"step_retries": 1, **({"step_timeout_s": 0.03} if where == "setting" else {})}
    bench = await make_bench(do, execution=execution)
    with pytest.raises(raised, match=r"a\.do did not answer within 0\.03 s"):
        await bench.call("a.do")
    assert len(begun) == calls


async def test_a_read_that_returned_what_it_does_not_declare_has_returned(make_bench: MakeBench) -> None:
    @capability("a.do", mode="read_only")
    def do() -> dict[str, int]:
        """Return a number, or so it says."""
        return {"n": "many"}  # type: ignore[dict-item]

    bench = await make_bench(do)
    with noting() as notes:
        assert await bench.call("a.do") == {"n": "many"}
    (said,) = notes
    assert said.startswith("a.do returned what it does not declare: n: input should be")


async def test_a_blind_call_with_an_undeclared_result_is_done(make_bench: MakeBench) -> None:
    @capability("a.do", mode="local_write")
    def do() -> int:
        """Return a number, or so it says."""
        return "many"  # type: ignore[return-value]

    bench = await make_bench(do)
    assert await bench.call("a.do") == "many"
    assert bench.effects() == [("a.do", "done")]


@pytest.mark.parametrize("effect", ["idempotent", "blind"])
async def test_an_effect_whose_result_no_record_could_hold_is_not_made_again(
    make_bench: MakeBench, effect: Any
) -> None:
    made: list[str] = []

    @capability("a.do", mode="local_write", effect=effect)
    def do() -> dict[str, float]:
        """Do it, and return a mean of nothing."""
        made.append("done")
        return {"mean": float("nan")}

    bench = await make_bench(do)
    assert [await bench.call("a.do") for _ in range(2)] == [{"mean": "NaN"}] * 2
    assert (made, bench.effects()) == (["done"], [("a.do", "done")])


async def test_a_call_over_the_budget_is_not_made(make_bench: MakeBench, deeds: Any) -> None:
    first, second = deeds.declare("a.do", mode="local_write"), deeds.declare("b.do", mode="read_only")
    bench = await make_bench(first, second, budgets={"run": {"tool_calls": 1}})
    await bench.call("a.do")
    with pytest.raises(BudgetExceeded, match="the run budget of 1 calls is spent"):
        await bench.call("b.do")
    assert len(deeds.calls) == 1


async def in_another_plan(bench: Any, uid: str) -> None:
    """Let the call be the step of a plan that was made later."""
    site = bench.sites["a.do"]
    checked = site.checked.model_copy(update={"uid": uid})
    plan = Plan(plan_id=f"plan of {uid}", goal=uid, steps=(checked.step,))
    await bench.stores.plans.record(site.lease, plan, [checked], NOW)
    bench.sites["a.do"] = dataclasses.replace(site, checked=checked, plan_hash=plan.plan_hash)


UNHEARD = [
    [CapabilityUnavailable("no answer")] * 4,
    [RuntimeError("reset by peer")],
    [CapabilityUnavailable("no answer"), CapabilityRejected("there already")],
]


@pytest.mark.parametrize("failures", UNHEARD, ids=["no answer", "broke off", "refused after no answer"])
async def test_an_idempotent_call_that_may_have_arrived_is_planned_again_under_its_first_key(
    make_bench: MakeBench, deeds: Any, failures: list[Exception]
) -> None:
    bench = await make_bench(deeds.declare(mode="local_write", effect="idempotent"))
    deeds.failures += failures
    with pytest.raises(CapabilityError):
        await bench.call("a.do")
    for uid in ("again", "once more"):
        await in_another_plan(bench, uid)
        assert await bench.call("a.do") == "did x"
    first, *rest = [key for _, key in deeds.calls]
    assert rest == [first] * len(rest)  # it was answered in between: that counts for the last plan


async def test_a_call_that_was_refused_at_once_is_planned_again_under_a_new_key(
    make_bench: MakeBench, deeds: Any
) -> None:
    bench = await make_bench(deeds.declare(mode="local_write", effect="idempotent"))
    deeds.failures.append(CapabilityRejected("no such ticket"))
    with pytest.raises(CapabilityRejected):
        await bench.call("a.do")
    await in_another_plan(bench, "again")
    await bench.call("a.do")
    assert len({key for _, key in deeds.calls}) == 2


async def test_after_a_crash_the_first_key_is_sent_again(make_bench: MakeBench, deeds: Any) -> None:
    bench = await make_bench(deeds.declare(mode="local_write", effect="idempotent"))
    deeds.failures += UNHEARD[0]
    with pytest.raises(CapabilityUnavailable):
        await bench.call("a.do")
    await in_another_plan(bench, "again")
    await bench.call("a.do")
    crash = "UPDATE effects SET status='intent' WHERE step_uid='again'"
    bench.stores.database.call("crash", lambda c: c.execute(crash).rowcount)
    await bench.call("a.do")
    assert len({key for _, key in deeds.calls}) == 1


async def test_a_call_that_a_dead_process_began_and_that_is_refused_now_may_have_arrived(
    make_bench: MakeBench, deeds: Any
) -> None:
    bench = await make_bench(deeds.declare(mode="local_write", effect="idempotent"))
    await bench.call("a.do")
    bench.stores.database.call("crash", lambda c: c.execute("UPDATE effects SET status='intent'").rowcount)
    deeds.failures.append(CapabilityRejected("there already"))
    with pytest.raises(CapabilityRejected):
        await bench.call("a.do")
    await in_another_plan(bench, "again")
    await bench.call("a.do")
    assert len({key for _, key in deeds.calls}) == 1
