"""What a loop may call, by the record of what was approved and never by its state, and how it is verified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage
from pydantic import JsonValue

from planwright.approvals.calls_over_limit import left_over_limit, within_limit
from planwright.capabilities.contract import Capability
from planwright.capabilities.gateway.gateway import Gateway
from planwright.capabilities.gateway.permit import check_step_gates
from planwright.capabilities.registry import TOOL_SEARCH
from planwright.domain.errors import CapabilityForbidden, GateError
from planwright.domain.lease import Lease
from planwright.domain.plan import DELEGATE
from planwright.domain.verified_step import VerifiedStep
from planwright.execution.refused_in_doubt import refused_in_doubt
from planwright.execution.repeated_calls import asking_again
from planwright.execution.tool_calls import CallReader
from planwright.execution.tool_offer import added_tools
from planwright.models.conversation.call_arguments import wire_name
from planwright.models.conversation.truncation import offered_whole
from planwright.planning.step_gates import agent_args
from planwright.planning.taint import Taint
from planwright.records.consent.gate import gate_id
from planwright.records.consent.gates import Gates
from planwright.records.plans import Plans
from planwright.records.stores import Stores
from planwright.state.invocation import Invocation
from planwright.state.loop_state import LoopState, LoopTask, ToolCall

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
        over = gate.over_call(uid)
        return gate.status == "approved" and (over is None or over.makes_it)

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


@dataclass(frozen=True)
class LoopTools:
    """What a loop may call, by the record, and how its calls are verified."""

    reader: CallReader
    """Verifies the calls of a reply."""
    grants: Grants
    """Knows what was approved for a lane."""
    taint: Taint
    """Knows whether a lane has read what others wrote."""
    stores: Stores
    """The records of the run."""

    async def granted(self, state: LoopState, invocation: Invocation) -> tuple[str, ...]:
        """Name what the loop is granted, with what reads whole results and what its model has searched."""
        granted = await self.grants.tools(state["loop"], invocation)
        allowed = self.reader.registry.within(invocation.profile)
        more = added_tools(granted, state.get("added", ()), allowed, state["loop"].goal)
        return (*granted, *offered_whole(state["conversation"]), *more)

    async def named(self, granted: Sequence[str], invocation: Invocation) -> dict[str, Capability]:
        """Look up what is granted, by the name that the model knows."""
        return await self.reader.tools(granted, invocation.run_id, invocation.profile)

    async def verifier(self, state: LoopState, invocation: Invocation) -> CallReader:
        """Choose how calls are verified: strictly in a lane that has changed since it was approved."""
        changed = await self.grants.changed(state["loop"], invocation)
        return self.reader.from_low() if changed else self.reader

    async def to_make(self, calls: list[ToolCall], invocation: Invocation) -> list[ToolCall]:
        """Refuse calls of which one is in doubt; those that would ask over a limit wait for their turn.

        Those that may repeat what is done are gated.
        """
        read = await self._without_doubt(calls, invocation)
        return await left_over_limit(read, self.stores, self.reader.registry, invocation)

    async def _without_doubt(self, calls: list[ToolCall], invocation: Invocation) -> list[ToolCall]:
        stores, registry = self.stores, self.reader.registry
        read = await refused_in_doubt(calls, stores.doubts, invocation.thread_id, registry)
        return await asking_again(read, stores, invocation, registry)

    async def tainted(
        self, granted: Sequence[str], tools: Mapping[str, Capability], loop: LoopTask, invocation: Invocation
    ) -> bool:
        """Say whether the next calls of a loop come after what others wrote: it was told so, or has read it.

        A tool that was granted and is gone may have been of a server.
        """
        gone = any(wire_name(name) not in tools for name in granted if name not in (TOOL_SEARCH, "respond"))
        foreign = gone or await self.reader.has_foreign_text(granted, tools.values(), invocation)
        return foreign or await self.taint.of_lane(loop, invocation)

    async def verified_now(self, state: LoopState, call: ToolCall, invocation: Invocation) -> ToolCall:
        """Verify a call at its turn, when what stands before it in its reply has been made."""
        loop = state["loop"]
        granted = await self.granted(state, invocation)
        tools = await self.named(granted, invocation)
        tainted = await self.tainted(granted, tools, loop, invocation)
        context = self.reader.asking(invocation, tainted=tainted)
        verifier = await self.verifier(state, invocation)
        call = call.model_copy(update={"unverified": ""})
        args, turn = _arguments(state, call), f"{loop.lane}.{state['turn']}"
        read = await verifier.verified(call, args, tools, turn, context)
        (read,) = await self._without_doubt([read], invocation)
        return await within_limit(read, self.stores, self.reader.registry, invocation)


def _arguments(state: LoopState, call: ToolCall) -> dict[str, JsonValue]:
    """Read the arguments of a call as its model wrote them."""
    replies = (message for message in reversed(state["conversation"]) if isinstance(message, AIMessage))
    return next(
        written["args"] for reply in replies for written in reply.tool_calls if written["id"] == call.call_id
    )
