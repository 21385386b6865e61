"""The tools of a loop, and the verification of its calls: of a whole reply, or of one call at its turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage
from pydantic import JsonValue

from planwright.capabilities.contract import Capability
from planwright.checkpoints.stores import Stores
from planwright.execution.grants import Grants
from planwright.execution.refused_in_doubt import refused_in_doubt
from planwright.execution.repeated_calls import asking_again
from planwright.execution.tool_calls import CallReader
from planwright.execution.tool_offer import added_tools
from planwright.models.conversation.truncation import offered_whole
from planwright.planning.taint import Taint
from planwright.state.invocation import Invocation
from planwright.state.loop_state import LoopState, ToolCall


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

    async def not_repeated(self, calls: list[ToolCall], invocation: Invocation) -> list[ToolCall]:
        """Refuse calls of which one is in doubt; gate those that may repeat what is done."""
        stores, registry = self.stores, self.reader.registry
        read = await refused_in_doubt(calls, stores.doubts, invocation.thread_id, registry)
        return await asking_again(read, stores, invocation, registry)

    async def verified_now(self, state: LoopState, call: ToolCall, invocation: Invocation) -> ToolCall:
        """Verify a call at its turn, when what stands before it in its reply has been made."""
        loop = state["loop"]
        tools = await self.named(await self.granted(state, invocation), invocation)
        context = self.reader.asking(invocation, tainted=await self.taint.of_lane(loop, invocation))
        verifier = await self.verifier(state, invocation)
        call = call.model_copy(update={"unverified": ""})
        args, turn = _arguments(state, call), f"{loop.lane}.{state['turn']}"
        (read,) = await self.not_repeated(
            [await verifier.verified(call, args, tools, turn, context)], invocation
        )
        return read


def _arguments(state: LoopState, call: ToolCall) -> dict[str, JsonValue]:
    """Read the arguments of a call as its model wrote them."""
    replies = (message for message in reversed(state["conversation"]) if isinstance(message, AIMessage))
    return next(
        written["args"] for reply in replies for written in reply.tool_calls if written["id"] == call.call_id
    )
