"""Grants: which tools a lane may use, by the record of what was approved and never by the state."""

from __future__ import annotations

from planwright.capabilities.gateway.gateway import Gateway
from planwright.capabilities.gateway.permit import check_step_gates
from planwright.checkpoints.consent.gate import gate_id
from planwright.checkpoints.consent.gates import Gates
from planwright.checkpoints.plans import Plans
from planwright.domain.errors import CapabilityForbidden, GateError
from planwright.domain.lease import Lease
from planwright.domain.plan import DELEGATE
from planwright.domain.verified_step import VerifiedStep
from planwright.planning.step_gates import agent_args
from planwright.state.invocation import Invocation
from planwright.state.loop_state import LoopTask

KEPT_RUNS = 64


class Grants:
    """Look up what a loop may use: LangGraph lets anybody with the graph write into the state."""

    def __init__(self, gateway: Gateway, plans: Plans, gates: Gates) -> None:
        self._gateway = gateway
        self._gates = gates
        self._plans = plans
        self._planned: dict[Lease, bool] = {}

    async def tools(self, loop: LoopTask, invocation: Invocation) -> tuple[str, ...]:
        """Name the tools of a loop; none when no approved plan holds its step.

        A simple request has the tools that were found for it, unless its run has a plan to wait for.
        """
        if loop.lane == "main":
            return () if await self._has_plan(invocation.lease) else loop.tools
        approval = await self._gateway.approved(invocation.lease, loop.plan_hash, loop.lane)
        if approval is None or (
            approval.gated and not await self._decided(approval.gate_subject, invocation)
        ):
            return ()
        try:
            await check_step_gates(self._gates, invocation.run_id, approval, agent_args(approval))
        except CapabilityForbidden:
            return ()
        granted = granted_by(approval)
        return tuple(name for name in loop.tools if name in granted)

    async def changed(self, loop: LoopTask, invocation: Invocation) -> bool:
        """Say whether a loop goes on though its tools, or the rules for them, are not those approved."""
        if loop.lane == "main":
            return False
        approval = await self._gateway.approved(invocation.lease, loop.plan_hash, loop.lane)
        return approval is not None and not self._gateway.as_pinned(approval)

    async def _decided(self, uid: str, invocation: Invocation) -> bool:
        try:
            gate = await self._gates.read(gate_id(invocation.run_id, "step", uid))
        except GateError:
            return False
        return gate.status == "approved"

    async def _has_plan(self, lease: Lease) -> bool:
        if lease not in self._planned:
            while len(self._planned) >= KEPT_RUNS:
                del self._planned[next(iter(self._planned))]
            self._planned[lease] = await self._plans.any_of(lease.run_id)
        return self._planned[lease]


def granted_by(checked: VerifiedStep) -> tuple[str, ...]:
    """Name what the agent of a step, or of a delegated task, may use; asking a person is always granted."""
    if checked.step.agentic:
        return (*checked.step.tool_hints, "clarify")
    named = checked.step.params.get("tools") if checked.step.capability == DELEGATE else None
    return (*map(str, named), "clarify") if isinstance(named, list) else ()
