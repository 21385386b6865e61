"""Calls of which the same one is in doubt on their thread: refused until a person has decided over that one.

The ledger refuses them in front of the call, too; here nobody is asked to approve what would not be made.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from planwright.capabilities.arguments import check_arguments
from planwright.capabilities.chains.compose import is_known, known_arguments
from planwright.capabilities.registry import Registry
from planwright.domain.errors import CapabilityRejected
from planwright.domain.hashing import sha256
from planwright.domain.references import has_reference
from planwright.domain.results import Finding
from planwright.domain.verified_step import VerifiedStep
from planwright.records.effects.doubts import Doubts
from planwright.state.loop_state import ToolCall


async def refused_in_doubt(
    calls: list[ToolCall], doubts: Doubts, thread_id: str, registry: Registry
) -> list[ToolCall]:
    """Turn the calls of a reply that would repeat what is in doubt into the reason why they are not made."""
    checked = [call.checked for call in calls if call.checked and not call.error]
    why = await _refusals(checked, doubts, thread_id, registry)
    return [
        call.model_copy(update={"checked": None, "error": why[call.checked.uid]})
        if call.checked and call.checked.uid in why
        else call
        for call in calls
    ]


async def doubted_steps(
    checked: Sequence[VerifiedStep], doubts: Doubts, thread_id: str, registry: Registry
) -> list[Finding]:
    """Find the steps of a plan that would repeat what is in doubt, as far as their arguments are known."""
    why = await _refusals(checked, doubts, thread_id, registry)
    fix = "decide over it first, or leave the step out"
    return [
        Finding(code="in_doubt", step_id=entry.step.id, message=why[entry.uid], fix=fix)
        for entry in checked
        if entry.uid in why
    ]


async def _refusals(
    checked: Sequence[VerifiedStep], doubts: Doubts, thread_id: str, registry: Registry
) -> dict[str, str]:
    """Say by uid why steps are refused."""
    uid_calls = [(entry.uid, call) for entry in checked for call in _calls(entry, registry)]
    refused = await doubts.same_as(thread_id, [call for _, call in uid_calls])
    return {uid: str(refused[call]) for uid, call in uid_calls if call in refused}


def _calls(checked: VerifiedStep, registry: Registry) -> list[tuple[str, str]]:
    """List what a step calls with an effect and known arguments: capability, and the hash of all of them."""
    params = dict(checked.step.params)
    if checked.effect == "pure" or checked.step.agentic or has_reference(params):
        return []
    if checked.chain is None:
        return _whole(checked.step.capability or "", params, registry)
    try:
        parts = [
            (call.capability, known_arguments(call, params)) for call in checked.chain.calls if is_known(call)
        ]
    except CapabilityRejected:
        return []  # an argument of the chain is missing: nothing of it is made
    return [call for name, args in parts for call in _whole(name, args, registry)]


def _whole(name: str, args: dict[str, JsonValue], registry: Registry) -> list[tuple[str, str]]:
    """Name a call as the ledger does, its defaults filled in; nothing for one that would not be made."""
    capability = registry.get(name)
    if capability is None or capability.effect == "pure":
        return []
    try:
        return [(name, sha256(check_arguments(capability, args)))]
    except CapabilityRejected:
        return []
