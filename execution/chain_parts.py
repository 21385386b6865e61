"""The calls of a chain as a plan of their own: only what is on record can be executed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pydantic import JsonValue

from planwright.capabilities.arguments import check_arguments
from planwright.capabilities.chains.compose import is_known, known_arguments
from planwright.capabilities.gateway.gateway import Gateway
from planwright.capabilities.gateway.verified_call import NamedCall, verified_call
from planwright.domain.chain import Chain
from planwright.domain.doubt import DENIED
from planwright.domain.errors import CapabilityRejected, RunError
from planwright.domain.hashing import sha256
from planwright.domain.plan import Plan, PlanStep
from planwright.domain.results import StepResult
from planwright.domain.verified_step import VerifiedStep
from planwright.planning.step_identity import earlier_uids, uid_of
from planwright.planning.taint import untrusted

Settled = Callable[[str], StepResult | None]


def chain_of(checked: VerifiedStep) -> Chain:
    """Read the chain that a step calls. Raises RunError for a step that calls none."""
    if checked.chain is None:
        raise RunError(
            f"step {checked.step.id} calls no chain: the state was changed from outside", "run again"
        )
    return checked.chain


def parts_of(
    run_id: str, checked: VerifiedStep, args: dict[str, JsonValue], gateway: Gateway, settled: Settled
) -> list[VerifiedStep]:
    """Name the parts of one call of a chain for good, each by its place in it.

    A part that was done in an earlier attempt at the same step keeps its name, and so its result.
    Raises CapabilityRejected for a part that is no longer there.
    """
    chain = chain_of(checked)
    attempt = len(earlier_uids(run_id, checked))
    base = uid_of(run_id, checked.step, checked.needs, 0)
    parts: list[VerifiedStep] = []
    for number, link in enumerate(chain.calls, 1):
        capability = gateway.registry.get(link.capability)
        if capability is None:
            raise CapabilityRejected(f"{link.capability}, a part of {chain.name}, is no longer there")
        capability = capability.narrowed(
            {**capability.defaults, **known_arguments(link, args)}, gateway.call_context
        )
        uids = [_part_uid(base, chain, number, again) for again in range(attempt + 1)]
        while (last := settled(uids[-1])) and last.code == DENIED:  # made again, under another key
            uids.append(_part_uid(base, chain, number, len(uids)))
        done = (uid for uid in uids if (result := settled(uid)) and result.status == "completed")
        step = PlanStep(
            id=f"{checked.step.id[:60]}.{number}",
            capability=capability.name,
            params=link.arguments,
            description=f"Step {number} of the chain {chain.name}.",
            timeout_s=checked.step.timeout_s,
        )
        read = {part.step.capability or "" for part in parts}
        tainted = checked.tainted or untrusted(read, gateway.registry)
        call = NamedCall(step, next(done, uids[-1]), tuple(part.uid for part in parts[-1:]))
        context = replace(gateway.call_context, tainted=tainted)
        parts.append(verified_call(call, capability, None, gateway.registry, context))
    return parts


def parts_plan(run_id: str, checked: VerifiedStep, parts: list[VerifiedStep]) -> Plan:
    """Put the parts of one call of a chain on record as a plan, another one where a part is made again."""
    chain, base = chain_of(checked), uid_of(run_id, checked.step, checked.needs, 0)
    goal = f"{chain.name} {chain.hash} for {checked.uid}"
    uids = [part.uid for part in parts]
    if uids != [_part_uid(base, chain, number, 0) for number in range(1, len(parts) + 1)]:
        goal += f", again as {sha256(uids)[:16]}"
    return Plan(plan_id=f"chain_{checked.uid}", goal=goal, steps=tuple(part.step for part in parts))


def shown_parts(
    run_id: str, checked: VerifiedStep, args: dict[str, JsonValue], gateway: Gateway, settled: Settled
) -> dict[str, Any]:
    """Show what approving a call of a chain lets happen: its definition by hash, and its calls.

    Where all arguments of a call are known, the approval includes its gate (`gate_included`); the others
    ask for themselves. Nothing for what is no chain. Raises CapabilityRejected for bad arguments.
    """
    if checked.chain is None:
        return {}
    steps = []
    parts = parts_of(run_id, checked, args, gateway, settled)
    for call, part in zip(checked.chain.calls, parts, strict=True):
        capability = gateway.registry[call.capability]
        whole = is_known(call)
        params = (
            check_arguments(capability, known_arguments(call, args)) if whole else known_arguments(call, args)
        )
        fields = {"id": part.step.id, "capability": call.capability, "args": params}
        fields |= {"risk": part.risk, "mode": part.mode}
        steps.append({**fields, **({"gate_included": part.uid} if whole else {})})
    return {"definition": checked.chain.hash, "steps": steps}


def _part_uid(base: str, chain: Chain, number: int, again: int) -> str:
    return "step_" + sha256([base, chain.hash, number, again])[:16]
