"""request_gate: write down that a person has to decide over one call, with its real arguments.

The policy is asked once more, now that they are known: what it denies is not put before anybody.
"""

from __future__ import annotations

import asyncio

from langchain_core.runnables import RunnableConfig
from pydantic import JsonValue

from planwright.approvals.call_gate import CallGates, approval, is_named
from planwright.approvals.card import step_card
from planwright.capabilities.arguments import check_arguments
from planwright.capabilities.chains.run_chains import called_capability
from planwright.capabilities.contract import Capability
from planwright.capabilities.gateway.read_files import files_read, shown_files
from planwright.capabilities.gateway.redact import refuse_secrets
from planwright.capabilities.policy.consent import Judgement
from planwright.capabilities.policy.decide import evidence
from planwright.capabilities.policy.rulings import Ruling
from planwright.capabilities.width import width_of
from planwright.domain.errors import CapabilityError
from planwright.domain.hashing import sha256
from planwright.domain.step_ends import failed
from planwright.domain.verified_step import VerifiedStep
from planwright.execution.chain_parts import shown_parts
from planwright.execution.repeated_calls import once_more
from planwright.execution.step_runner import StepRunner, site_of
from planwright.records.consent.gate import Decision, Gate
from planwright.state.agent_state import StepTask
from planwright.state.invocation import Invocation, invocation_of
from planwright.state.lane_state import LaneState, LaneUpdate
from planwright.state.node import Node


def request_gate(runner: StepRunner, gates: CallGates) -> Node[LaneState, LaneUpdate]:
    """Open the gate of a step once its arguments are known; bad arguments end the lane instead."""

    async def request_gate(state: LaneState, config: RunnableConfig) -> LaneUpdate:
        invocation, task = invocation_of(config), state["step_task"]
        results = await invocation.board.inputs(task["awaits"], task["checked"].uid)
        try:
            raw_args = await runner.arguments(task, results, invocation)
            runner.gateway.check_pin(task["checked"])
            capability, args = await checked_call(runner, task, raw_args, invocation)
            site = site_of(task["checked"], task["plan_hash"], invocation)
            capability = runner.gateway.narrowed(capability, args, site)
            past = await runner.gateway.past(capability, args, site)
            if past.key:  # nothing is called, so nobody is asked
                recorded = await runner.run(task, results, invocation)
                return {"results": {recorded.uid: recorded}}
            await runner.gateway.refuse_again(capability, args, site, sources=False)
            judged = runner.gateway.consent(capability, args, site, "plan")
            settled = invocation.board.settled
            parts = shown_parts(invocation.run_id, task["checked"], args, runner.gateway, settled)
            named = await gates.passed(task["checked"], args, invocation.run_id)
        except CapabilityError as error:
            result = failed(task["checked"], error)
            return {"results": {result.uid: await runner.settle(task, result, invocation)}}
        checked = task["checked"]
        why = judged.reason if judged.asks and not checked.done_before else checked.reason
        proof = evidence(judged.ruling, runner.gateway.call_context)
        card = step_card(task, args, proof, why, invocation.words) | parts
        files = files_read(capability, args, runner.gateway.call_context)
        card |= {"width": width_of(capability, args), **shown_files(files)}
        if past.again:
            card |= {"reason": once_more(past), "done_before": invocation.run_id}
        repeats = past.again or checked.done_before == invocation.run_id
        decided = None
        if not repeats:
            decided = allowed(checked, judged) or (None if files else decided_at(named, judged.ruling))
            decided = decided or waived(checked, judged, await gates.of_plan(task["plan_gate"]))
        as_shown = checked.known in ("", sha256(raw_args))
        plan_gate = task["plan_gate"] if as_shown else ""
        opened = await gates.open(checked, card, invocation, plan_gate, decided)
        return {"gate_id": opened}

    return request_gate


def allowed(checked: VerifiedStep, judged: Judgement) -> Decision | None:
    """Approve by policy what asked only as long as an argument was unknown, and does not ask now."""
    if judged.asks or checked.policy is None or not checked.policy.undecided:
        return None
    ruling = judged.ruling
    by = ruling.rule or "the rule of consent"
    return Decision(answer="approve", decided_by=by, channel="policy", reason=ruling.reason)


def waived(checked: VerifiedStep, judged: Judgement, plan: Gate | None) -> Decision | None:
    """Approve what is only shown because it was not known, where a person approved its plan `unseen`."""
    if plan is None or plan.status != "approved" or not (plan.remembered and plan.remembered.unseen):
        return None
    if judged.own_gate or checked.policy is None or not checked.policy.undecided:
        return None
    if judged.ruling.needs_names and not is_named(plan):
        return None
    return approval(plan.decided_by or "", "plan", f"unseen, with the plan, at {plan.gate_id}")


def decided_at(named: Gate | None, ruling: Ruling) -> Decision | None:
    """Take over what a person said of the same call at a gate that its plan names; others may yet have to."""
    if named is None or (ruling.needs_names and not is_named(named)):
        return None
    name = named.card["gate"]
    return approval(named.decided_by or "", "gate", f"with the gate {name}, at {named.gate_id}")


async def checked_call(
    runner: StepRunner, task: StepTask, params: dict[str, JsonValue], invocation: Invocation
) -> tuple[Capability, dict[str, JsonValue]]:
    """Look a step's capability up and its arguments through. Raises CapabilityError where one cannot be."""
    checked = task["checked"]
    capability = called_capability(
        runner.gateway.registry, checked.step.capability or "", checked, invocation.profile
    )
    args = check_arguments(capability, params)
    refuse_secrets(capability, args, runner.gateway.call_context.redactor)
    if capability.preflight:
        await asyncio.to_thread(capability.check, args, runner.gateway.call_context)
    return capability, args
