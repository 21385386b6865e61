"""The gateway lets nothing pass that was not planned, checked, allowed and approved."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import JsonValue

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.errors import CapabilityRejected
from planwright.domain.lease import Lease
from planwright.records.consent.gate import Decision, Gate, gate_id

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MakeBench = Callable[..., Awaitable[Any]]


def lease_of(bench: Any) -> Lease:
    """The lease of the run of a bench."""
    lease: Lease = next(iter(bench.sites.values())).lease
    return lease


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
        card={"args": args, "pin": bench.sites[name].checked.pin},
        requested_at=NOW,
        expires_at=NOW + timedelta(hours=1) if answer != "expire" else NOW,
        status="open",
    )
    await bench.stores.gates.open(gate, lease_of(bench))
    if answer in ("approve", "reject"):
        decision = Decision.model_validate({"answer": answer, "decided_by": "sam", "channel": "test"})
        await bench.stores.gates.decide(gate.gate_id, decision, NOW)


def flag_of(flags: list[Any]) -> Capability:
    """Declare a capability that takes a value of any type."""

    @capability("flag.set", mode="destructive")
    def set_flag(value: JsonValue) -> str:
        """Set the flag."""
        flags.append(value)
        return "set"

    return set_flag


async def test_a_planned_call_is_made_and_recorded(make_bench: MakeBench, deeds: Any) -> None:
    bench = await make_bench(deeds.declare(mode="local_write"))
    assert await bench.call("a.do", what="it") == "did it"
    assert [what for what, _ in deeds.calls] == ["it"]
    assert bench.effects() == [("a.do", "done")]


async def test_a_gate_that_is_open_yet_is_read_again_when_it_is_decided(
    make_bench: MakeBench, deeds: Any
) -> None:
    bench = await make_bench(deeds.declare(mode="destructive"))
    await open_gate(bench, "a.do", {"what": "it"}, None)
    with pytest.raises(CapabilityRejected, match="nobody approved"):
        await bench.call("a.do", what="it")
    decision = Decision(answer="approve", decided_by="sam", channel="test")
    await bench.stores.gates.decide(gate_id("run_1", "step", bench.sites["a.do"].checked.uid), decision, NOW)
    assert await bench.call("a.do", what="it") == "did it"


async def test_a_pure_call_leaves_no_record(make_bench: MakeBench, deeds: Any) -> None:
    bench = await make_bench(deeds.declare(mode="read_only"))
    await bench.call("a.do")
    await bench.call("a.do")
    assert (len(deeds.calls), bench.effects()) == (2, [])


async def test_a_call_of_a_plan_that_is_not_recorded_is_refused(make_bench: MakeBench, deeds: Any) -> None:
    bench = await make_bench(deeds.declare(mode="read_only"), recorded=False)
    with pytest.raises(CapabilityRejected, match="is not a step of an approved plan of this run"):
        await bench.call("a.do")
    assert deeds.calls == []


@pytest.mark.parametrize("answer", [None, "reject", "expire"])
async def test_a_call_of_a_plan_that_nobody_approved_is_refused(
    make_bench: MakeBench, deeds: Any, answer: str | None
) -> None:
    bench = await make_bench(deeds.declare(mode="read_only"), gate_id="gate_plan")
    await decide_plan(bench, answer)
    with pytest.raises(CapabilityRejected, match="is not a step of an approved plan of this run"):
        await bench.call("a.do")
    assert deeds.calls == []


async def test_an_approved_call_that_the_agent_of_the_run_may_not_make_is_refused(
    make_bench: MakeBench, deeds: Any
) -> None:
    agents = {"narrow": {"tools": ["b.*"]}}
    bench = await make_bench(deeds.declare(mode="read_only"), agent="narrow", agents=agents)
    with pytest.raises(CapabilityRejected, match=r"this agent may not use a\.do"):
        await bench.call("a.do")
    assert deeds.calls == []


async def test_a_call_of_an_approved_plan_is_made(make_bench: MakeBench, deeds: Any) -> None:
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
        card={"steps": []},
        requested_at=NOW,
        expires_at=NOW + timedelta(hours=1) if answer != "expire" else NOW,
        status="open",
    )
    await bench.stores.gates.open(gate, lease_of(bench))
    if answer in ("approve", "reject"):
        decision = Decision.model_validate({"answer": answer, "decided_by": "sam", "channel": "test"})
        await bench.stores.gates.decide("gate_plan", decision, NOW)


@pytest.mark.parametrize(
    "change",
    [{"gated": False}, {"mode": "read_only"}, {"uid": "uid_9"}, {"effect": "pure"}, {"needs": ("uid_9",)}],
    ids=str,
)
async def test_a_step_that_differs_from_the_recorded_one_is_refused(
    make_bench: MakeBench, deeds: Any, change: dict[str, Any]
) -> None:
    bench = await make_bench(deeds.declare(mode="local_write"), gated=True)
    await open_gate(bench, "a.do", {"what": "x"}, "approve")
    site = bench.sites["a.do"]
    bench.sites["a.do"] = dataclasses.replace(site, checked=site.checked.model_copy(update=change))
    with pytest.raises(CapabilityRejected, match="is not a step of an approved plan of this run"):
        await bench.call("a.do")
    assert deeds.calls == []


@pytest.mark.parametrize("other", [True, 1.0], ids=str)
async def test_a_value_of_another_type_is_not_the_one_on_record(make_bench: MakeBench, other: Any) -> None:
    """Python says that 1 is True, and what is called does something else with it."""
    flags: list[Any] = []
    bench = await make_bench(flag_of(flags), gated=True)
    await open_gate(bench, "flag.set", {"value": 1}, "approve")
    with pytest.raises(CapabilityRejected, match=r"nobody approved flag\.set with these arguments"):
        await bench.call("flag.set", value=other)
    await bench.call("flag.set", value=1)
    assert [repr(value) for value in flags] == ["1"]


@pytest.mark.parametrize(
    "change",
    [{"plan_hash": "0" * 64}, {"lease": Lease("acme", "thread_2", "run_2", 1)}],
    ids=["plan", "run"],
)
async def test_a_call_under_another_plan_or_run_is_refused(
    make_bench: MakeBench, deeds: Any, change: dict[str, Any]
) -> None:
    bench = await make_bench(deeds.declare(mode="read_only"))
    bench.sites["a.do"] = dataclasses.replace(bench.sites["a.do"], **change)
    with pytest.raises(CapabilityRejected):
        await bench.call("a.do")
    assert deeds.calls == []


async def test_an_argument_may_have_any_name(make_bench: MakeBench) -> None:
    @capability("a.do", mode="read_only")
    def do(keys: list[str], items: int = 1) -> str:
        """Do something."""
        return f"{keys} {items}"

    bench = await make_bench(do)
    assert await bench.call("a.do", keys=["k"]) == "['k'] 1"


async def test_an_unknown_capability_is_refused(make_bench: MakeBench, deeds: Any) -> None:
    bench = await make_bench(deeds.declare(mode="read_only"))
    bench.sites["a.other"] = bench.sites["a.do"]
    with pytest.raises(CapabilityRejected, match=r"there is no capability a\.other"):
        await bench.call("a.other")


@pytest.mark.parametrize("params", [{"what": 1}, {"what": None}, {"where": "x"}, {"call": {}}], ids=str)
async def test_bad_arguments_are_refused_before_anything_happens(
    make_bench: MakeBench, deeds: Any, params: dict[str, Any]
) -> None:
    bench = await make_bench(deeds.declare(mode="local_write"))
    with pytest.raises(CapabilityRejected, match=r"a\.do was given bad arguments"):
        await bench.call("a.do", **params)
    assert (deeds.calls, bench.effects()) == ([], [])


async def test_a_preflight_that_refuses_is_the_last_word(make_bench: MakeBench, deeds: Any) -> None:
    def refuse(args: Any, call: CallContext) -> None:
        raise CapabilityRejected(f"never {args['what']}")

    bench = await make_bench(deeds.declare(mode="local_write", preflight=refuse))
    with pytest.raises(CapabilityRejected, match="never x"):
        await bench.call("a.do")
    assert (deeds.calls, bench.effects()) == ([], [])


@pytest.mark.parametrize("mode", ["destructive", None, "delegated", "network"])
async def test_a_call_that_needs_a_person_is_refused_without_a_gate(
    make_bench: MakeBench, deeds: Any, mode: Any
) -> None:
    bench = await make_bench(deeds.declare(mode=mode))
    with pytest.raises(CapabilityRejected, match=r"a\.do needs a person"):
        await bench.call("a.do")
    assert (deeds.calls, bench.effects()) == ([], [])


async def test_a_step_that_was_gated_at_verification_is_refused_without_its_gate(
    make_bench: MakeBench, deeds: Any
) -> None:
    bench = await make_bench(deeds.declare(mode="read_only"), gated=True)
    with pytest.raises(CapabilityRejected, match="needs a person"):
        await bench.call("a.do")
    assert deeds.calls == []


@pytest.mark.parametrize("answer", [None, "reject", "expire"])
async def test_a_gate_that_is_not_approved_opens_nothing(
    make_bench: MakeBench, deeds: Any, answer: str | None
) -> None:
    bench = await make_bench(deeds.declare(mode="destructive"))
    await open_gate(bench, "a.do", {"what": "x"}, answer)
    with pytest.raises(CapabilityRejected, match="nobody approved"):
        await bench.call("a.do")
    assert deeds.calls == []


async def test_an_approval_counts_for_the_arguments_that_were_shown(
    make_bench: MakeBench, deeds: Any
) -> None:
    bench = await make_bench(deeds.declare(mode="destructive"))
    await open_gate(bench, "a.do", {"what": "x"}, "approve")
    with pytest.raises(CapabilityRejected, match=r"nobody approved a\.do with these arguments"):
        await bench.call("a.do", what="y")
    assert await bench.call("a.do", what="x") == "did x"
    assert [what for what, _ in deeds.calls] == ["x"]
