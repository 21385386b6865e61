"""named_gate: the gates that a step has to pass before it begins, one after another."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig
from pydantic import JsonValue

from planwright.approvals.call_gate import CallGates
from planwright.approvals.card import step_card
from planwright.domain.errors import CapabilityError
from planwright.domain.hashing import sha256
from planwright.domain.results import StepResult
from planwright.domain.step_ends import bare_result
from planwright.domain.verified_step import PolicyEvidence, StepGate, VerifiedStep
from planwright.execution.chain_parts import shown_parts
from planwright.execution.step_runner import StepRunner
from planwright.nodes.steps.gated_call import refused
from planwright.nodes.steps.request_gate import checked_call
from planwright.planning.step_gates import agent_args
from planwright.state.agent_state import StepTask
from planwright.state.invocation import Invocation, invocation_of
from planwright.state.lane_state import LaneState, LaneUpdate
from planwright.state.node import Node


def named_gate(runner: StepRunner, gates: CallGates) -> Node[LaneState, LaneUpdate]:
    """Open the first gate of a step that is not open yet; end the lane where one was refused."""

    async def named_gate(state: LaneState, config: RunnableConfig) -> LaneUpdate:
        invocation, task = invocation_of(config), state["step_task"]
        checked = task["checked"]
        if settled := invocation.board.settled(checked.uid):
            return {"results": {settled.uid: settled}}
        results = await invocation.board.inputs(task["awaits"], checked.uid)
        try:
            card = await _card(runner, task, results, invocation)
        except CapabilityError as error:
            failed = bare_result(checked, "failed", code=error.code, error=error.cause)
            return {"results": {failed.uid: await runner.settle(task, failed, invocation)}}
        opened, frozen = "", await _evidence(runner, checked, invocation)
        for gate in checked.gates:
            gate_fields = card | frozen | _who(gate, runner.gateway.call_context.policy.hash)
            row = await gates.open_named(gate, checked, gate_fields, invocation)
            opened = row.gate_id
            if row.status == "open":
                return {"gate_id": opened, "waits": True}
            if no := refused(row, checked):
                return {"results": {no.uid: await runner.settle(task, no, invocation)}}
        return {"gate_id": "" if checked.chain else opened, "waits": False}

    return named_gate


async def _card(
    runner: StepRunner, task: StepTask, results: dict[str, StepResult], invocation: Invocation
) -> dict[str, JsonValue]:
    """Show what is about to begin, with its real arguments. Raises CapabilityError where it cannot."""
    checked, policy = (
        task["checked"],
        PolicyEvidence(rule="", version=runner.gateway.call_context.policy.hash),
    )
    runner.gateway.check_pin(checked)
    if checked.step.agentic:
        return step_card(task, agent_args(checked), policy, "", invocation.words)
    params = await runner.arguments(task, results, invocation)
    _, args = await checked_call(runner, task, params, invocation)
    parts = shown_parts(invocation.run_id, checked, args, runner.gateway, invocation.board.settled)
    return step_card(task, args, policy, "", invocation.words) | parts


async def _evidence(
    runner: StepRunner, checked: VerifiedStep, invocation: Invocation
) -> dict[str, JsonValue]:
    """Freeze what the decisions before a step rest on, with its hash, for the people who open its gates."""
    taken = await runner.decisions.before(checked, invocation)
    evidence: dict[str, JsonValue] = {
        f"{decision.spec.id}.{name}": {"step_id": step_id, "hash": sha256(value), "value": value}
        for decision in taken
        for name, (step_id, value) in decision.evidence.items()
    }
    return {"evidence": evidence} if evidence else {}


def _who(gate: StepGate, version: str) -> dict[str, JsonValue]:
    """Show which gate it is, and who opens it."""
    evidence = PolicyEvidence(
        rule=f"gate {gate.name}",
        version=version,
        approvers=gate.approvers,
        quorum=gate.quorum,
        exclude_requester=gate.exclude_requester,
    )
    why = f"{gate.name}: {gate.reason}" if gate.reason else f"the plan names the gate {gate.name}"
    return {"gate": gate.name, "reason": why, "policy": evidence.model_dump(mode="json")}
