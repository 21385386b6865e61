"""The gateway: nothing passes that was not planned, checked, allowed and approved; nothing happens twice."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.capability import Capability, capability
from planwright.checkpoints.gates import Decision, Gate, gate_id
from planwright.graph.errors import (
    BudgetExceeded,
    CapabilityRejected,
    CapabilityUnavailable,
    EffectInDoubt,
    LedgerConflict,
    RunError,
)

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MakeBench = Callable[..., Awaitable[Any]]


class Deeds:
    """What the capabilities of a test did: the arguments and the key of each call."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.failures: list[Exception] = []

    def declare(self, name: str = "a.do", **declared: Any) -> Capability:
        """Declare a capability that first raises the failures of this object, one a call."""

        @capability(name, **declared)
        async def do(call: CallContext, what: str = "x") -> str:
            """Do something."""
            self.calls.append((what, call.idempotency_key))
            if self.failures:
                raise self.failures.pop(0)
            return f"did {what}"

        return do


@pytest.fixture
def deeds() -> Deeds:
    return Deeds()


async def open_gate(bench: Any, name: str, args: dict[str, Any], answer: str | None) -> None:
    """Open the gate of a step with some arguments, and decide it."""
    gate = Gate(
        gate_id=gate_id("run_1", "step", bench.sites[name].checked.uid),
        thread_id="thread_1",
        run_id="run_1",
        tenant="acme",
        kind="step",
        step_uid=bench.sites[name].checked.uid,
        shown_hash="a" * 64,
        shown={"args": args},
        requested_at=NOW,
        expires_at=NOW + timedelta(hours=1) if answer != "expire" else NOW,
        status="open",
    )
    await bench.stores.gates.open(gate)
    if answer in ("approve", "reject"):
        decision = Decision.model_validate({"answer": answer, "decided_by": "sam", "channel": "test"})
        await bench.stores.gates.decide(gate.gate_id, decision, NOW)


async def test_a_planned_call_is_made_and_recorded(make_bench: MakeBench, deeds: Deeds) -> None:
    bench = await make_bench(deeds.declare(mode="local_write"))
    assert await bench.call("a.do", what="it") == "did it"
    assert [what for what, _ in deeds.calls] == ["it"]
    assert bench.effects() == [("a.do", "done")]


async def test_a_pure_call_leaves_no_record(make_bench: MakeBench, deeds: Deeds) -> None:
    bench = await make_bench(deeds.declare(mode="read_only"))
    await bench.call("a.do")
    await bench.call("a.do")
    assert (len(deeds.calls), bench.effects()) == (2, [])


async def test_a_call_of_a_plan_that_is_not_recorded_is_refused(make_bench: MakeBench, deeds: Deeds) -> None:
    bench = await make_bench(deeds.declare(mode="read_only"), recorded=False)
    with pytest.raises(CapabilityRejected, match="belongs to a plan that was not approved"):
        await bench.call("a.do")
    assert deeds.calls == []


@pytest.mark.parametrize("answer", [None, "reject", "expire"])
async def test_a_call_of_a_plan_that_nobody_approved_is_refused(
    make_bench: MakeBench, deeds: Deeds, answer: str | None
) -> None:
    bench = await make_bench(deeds.declare(mode="read_only"), gate_id="gate_plan")
    await decide_plan(bench, answer)
    with pytest.raises(CapabilityRejected, match="belongs to a plan that was not approved"):
        await bench.call("a.do")
    assert deeds.calls == []


async def test_a_call_of_an_approved_plan_is_made(make_bench: MakeBench, deeds: Deeds) -> None:
    bench = await make_bench(deeds.declare(mode="read_only"), gate_id="gate_plan")
    await decide_plan(bench, "approve")
    assert await bench.call("a.do") == "did x"


async def decide_plan(bench: Any, answer: str | None) -> None:
    site = bench.sites["a.do"]
    gate = Gate(
        gate_id="gate_plan",
        thread_id="thread_1",
        run_id="run_1",
        tenant="acme",
        kind="plan",
        step_uid=None,
        shown_hash=site.plan_hash,
        shown={},
        requested_at=NOW,
        expires_at=NOW + timedelta(hours=1) if answer != "expire" else NOW,
        status="open",
    )
    await bench.stores.gates.open(gate)
    if answer in ("approve", "reject"):
        decision = Decision.model_validate({"answer": answer, "decided_by": "sam", "channel": "test"})
        await bench.stores.gates.decide("gate_plan", decision, NOW)


@pytest.mark.parametrize("change", [{"plan_hash": "0" * 64}, {"run_id": "run_2"}], ids=["plan", "run"])
async def test_a_call_under_another_plan_or_run_is_refused(
    make_bench: MakeBench, deeds: Deeds, change: dict[str, str]
) -> None:
    bench = await make_bench(deeds.declare(mode="read_only"))
    bench.sites["a.do"] = dataclasses.replace(bench.sites["a.do"], **change)
    with pytest.raises(CapabilityRejected):
        await bench.call("a.do")
    assert deeds.calls == []


async def test_an_unknown_capability_is_refused(make_bench: MakeBench, deeds: Deeds) -> None:
    bench = await make_bench(deeds.declare(mode="read_only"))
    bench.sites["a.other"] = bench.sites["a.do"]
    with pytest.raises(CapabilityRejected, match=r"there is no capability a\.other"):
        await bench.call("a.other")


@pytest.mark.parametrize("params", [{"what": 1}, {"what": None}, {"where": "x"}, {"call": {}}], ids=str)
async def test_bad_arguments_are_refused_before_anything_happens(
    make_bench: MakeBench, deeds: Deeds, params: dict[str, Any]
) -> None:
    bench = await make_bench(deeds.declare(mode="local_write"))
    with pytest.raises(CapabilityRejected, match=r"a\.do was given bad arguments"):
        await bench.call("a.do", **params)
    assert (deeds.calls, bench.effects()) == ([], [])


async def test_a_preflight_that_refuses_is_the_last_word(make_bench: MakeBench, deeds: Deeds) -> None:
    def refuse(args: Any, call: CallContext) -> None:
        raise CapabilityRejected(f"never {args['what']}")

    bench = await make_bench(deeds.declare(mode="local_write", preflight=refuse))
    with pytest.raises(CapabilityRejected, match="never x"):
        await bench.call("a.do")
    assert (deeds.calls, bench.effects()) == ([], [])


@pytest.mark.parametrize("mode", ["destructive", None, "delegated", "network"])
async def test_a_call_that_needs_a_person_is_refused_without_a_gate(
    make_bench: MakeBench, deeds: Deeds, mode: Any
) -> None:
    bench = await make_bench(deeds.declare(mode=mode))
    with pytest.raises(CapabilityRejected, match=r"a\.do needs a person"):
        await bench.call("a.do")
    assert (deeds.calls, bench.effects()) == ([], [])


async def test_a_step_that_was_gated_at_verification_is_refused_without_its_gate(
    make_bench: MakeBench, deeds: Deeds
) -> None:
    bench = await make_bench(deeds.declare(mode="read_only"), gated=True)
    with pytest.raises(CapabilityRejected, match="needs a person"):
        await bench.call("a.do")
    assert deeds.calls == []


@pytest.mark.parametrize("answer", [None, "reject", "expire"])
async def test_a_gate_that_is_not_approved_opens_nothing(
    make_bench: MakeBench, deeds: Deeds, answer: str | None
) -> None:
    bench = await make_bench(deeds.declare(mode="destructive"))
    await open_gate(bench, "a.do", {"what": "x"}, answer)
    with pytest.raises(CapabilityRejected, match="nobody approved"):
        await bench.call("a.do")
    assert deeds.calls == []


async def test_an_approval_counts_for_the_arguments_that_were_shown(
    make_bench: MakeBench, deeds: Deeds
) -> None:
    bench = await make_bench(deeds.declare(mode="destructive"))
    await open_gate(bench, "a.do", {"what": "x"}, "approve")
    with pytest.raises(CapabilityRejected, match=r"nobody approved a\.do with these arguments"):
        await bench.call("a.do", what="y")
    assert await bench.call("a.do", what="x") == "did x"
    assert [what for what, _ in deeds.calls] == ["x"]


async def test_a_recorded_result_is_replayed_without_a_second_call(
    make_bench: MakeBench, deeds: Deeds
) -> None:
    bench = await make_bench(deeds.declare(mode="local_write"))
    assert await bench.call("a.do") == await bench.call("a.do")
    assert len(deeds.calls) == 1


async def test_the_same_step_with_other_arguments_is_a_conflict(make_bench: MakeBench, deeds: Deeds) -> None:
    bench = await make_bench(deeds.declare(mode="local_write"))
    await bench.call("a.do", what="x")
    with pytest.raises(LedgerConflict):
        await bench.call("a.do", what="y")
    assert len(deeds.calls) == 1


async def test_a_worker_that_lost_its_lease_makes_no_call(make_bench: MakeBench, deeds: Deeds) -> None:
    bench = await make_bench(deeds.declare(mode="local_write"))
    site = bench.sites["a.do"]
    bench.sites["a.do"] = dataclasses.replace(site, lease_token=site.lease_token + 1)
    with pytest.raises(RunError, match="taken over"):
        await bench.call("a.do")
    assert deeds.calls == []


@pytest.mark.parametrize(("effect", "calls"), [("idempotent", 2), ("blind", 1), ("queryable", 1)])
async def test_after_a_crash_only_an_idempotent_call_is_made_again_under_its_key(
    make_bench: MakeBench, deeds: Deeds, effect: Any, calls: int
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
    make_bench: MakeBench, deeds: Deeds
) -> None:
    deeds.failures = [CapabilityUnavailable("busy"), CapabilityUnavailable("still busy")]
    bench = await make_bench(deeds.declare(mode="local_write", effect="idempotent"))
    assert await bench.call("a.do") == "did x"
    assert bench.retries == [(1, "busy"), (2, "still busy")]
    assert len(deeds.calls) == 3
    assert len({key for _, key in deeds.calls}) == 1


@pytest.mark.parametrize("retries", [0, 1, 3])
async def test_a_failure_that_stays_is_tried_as_often_as_set_and_recorded(
    make_bench: MakeBench, deeds: Deeds, retries: int
) -> None:
    deeds.failures = [CapabilityUnavailable(f"busy {n}") for n in range(10)]
    bench = await make_bench(deeds.declare(mode="local_write"), execution={"step_retries": retries})
    with pytest.raises(CapabilityUnavailable, match=f"busy {retries}"):
        await bench.call("a.do")
    assert len(deeds.calls) == retries + 1
    assert bench.effects() == [("a.do", "failed")]


@pytest.mark.parametrize("failure", [CapabilityRejected("no"), ValueError("no"), EffectInDoubt("no")])
async def test_a_final_failure_is_not_tried_again(
    make_bench: MakeBench, deeds: Deeds, failure: Exception
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


async def test_a_result_that_is_not_what_was_declared_is_refused(make_bench: MakeBench) -> None:
    @capability("a.do", mode="read_only")
    def do() -> dict[str, int]:
        """Return a number, or so it says."""
        return {"n": "many"}  # type: ignore[dict-item]

    bench = await make_bench(do)
    with pytest.raises(
        CapabilityRejected, match=r"a\.do returned what it does not declare: n: input should be"
    ):
        await bench.call("a.do")


async def test_a_blind_call_with_an_undeclared_result_is_in_doubt(make_bench: MakeBench) -> None:
    @capability("a.do", mode="local_write")
    def do() -> int:
        """Return a number, or so it says."""
        return "many"  # type: ignore[return-value]

    bench = await make_bench(do)
    with pytest.raises(EffectInDoubt):
        await bench.call("a.do")
    assert bench.effects() == [("a.do", "in_doubt")]


async def test_a_call_over_the_budget_is_not_made(make_bench: MakeBench, deeds: Deeds) -> None:
    bench = await make_bench(deeds.declare("a.do", mode="local_write"), deeds.declare("b.do", mode="read_only"),
                             budgets={"run": {"tool_calls": 1}})  # fmt: skip
    await bench.call("a.do")
    with pytest.raises(BudgetExceeded, match="the run budget of 1 tool calls is spent"):
        await bench.call("b.do")
    assert len(deeds.calls) == 1
