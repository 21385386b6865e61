"""Calls of a reply that a limit of the run refuses: no person is asked about what would not be made."""

from __future__ import annotations

from planwright.capabilities.registry import Registry
from planwright.domain.errors import BudgetExceeded
from planwright.models.conversation.final_text import SPENT
from planwright.planning.estimate import call_count, effect_count
from planwright.records.effects.effect_limits import effects_had, too_many_effects
from planwright.records.limits import limit_error
from planwright.records.stores import Stores
from planwright.state.invocation import Invocation
from planwright.state.loop_state import ToolCall


async def left_over_limit(
    calls: list[ToolCall], stores: Stores, registry: Registry, invocation: Invocation
) -> list[ToolCall]:
    """Leave the calls that would ask, and do not fit into what is left, to be verified at their turn.

    Those in front of them in the reply come first. What asks nobody is left to the gateway, which meets the
    limit as it is made.
    """
    if not any(call.waits for call in calls):
        return calls
    count, effects, read = 0, 0, []
    for call in calls:
        if call.checked is not None and call.capability and not call.asks:
            count += call_count(call.checked)
            effects += 0 if call.checked.kept else effect_count(call.checked, registry)
            if call.waits and (refusal := await _refusal(count, effects, stores, invocation)):
                call = call.model_copy(update={"checked": None, "unverified": refusal.cause})
        read.append(call)
    return read


async def within_limit(
    call: ToolCall, stores: Stores, registry: Registry, invocation: Invocation
) -> ToolCall:
    """Let a call whose turn it is ask where it fits into what is left, and have the limit asked about first.

    Where a person gives no more, the call is the limit that refuses it.
    """
    if call.checked is None or not call.waits or call.asks:
        return call
    effects = 0 if call.checked.kept else effect_count(call.checked, registry)
    while refusal := await _refusal(call_count(call.checked), effects, stores, invocation):
        if not await invocation.goes_on_after(refusal):
            return call.model_copy(update={"checked": None, "error": f"{SPENT}{refusal.cause}"})
    return call


async def _refusal(count: int, effects: int, stores: Stores, invocation: Invocation) -> BudgetExceeded | None:
    """Say which limit so many more calls, with so many effects, would break."""
    lease, limits = invocation.lease, invocation.profile.limits
    for limit in await stores.budgets.of_run(lease, limits, invocation.clock()):
        if limit.unit == "tool_calls" and not limit.covers(count):
            return limit_error(limit, count)
    if limits.effects is None or not effects:
        return None
    had = await effects_had(lease.run_id, stores.database)
    return too_many_effects(limits, had) if had + effects > limits.effects else None
