"""Calls that would repeat what was done, or what a person said no to.

What a run has done under an earlier plan is not called again: its record counts for the same call, once. One
more of it asks a person, and so does, from Medium risk on, the same capability with other values: its card
names what was done already. So does what the run was forked from has done, or was refused there. What was
refused in this run is neither made nor asked about again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from planwright.capabilities.arguments import check_arguments
from planwright.capabilities.contract import Capability
from planwright.capabilities.gateway.call_site import effect_call
from planwright.capabilities.registry import Registry
from planwright.domain.chain import CREATE_CHAIN
from planwright.domain.errors import CapabilityRejected
from planwright.domain.hashing import sha256
from planwright.domain.plan import DELEGATE
from planwright.domain.results import StepResult
from planwright.domain.risk import Risk, at_least
from planwright.domain.verified_step import PolicyEvidence, VerifiedStep
from planwright.execution.step_runner import site_of
from planwright.planning.rules import Rules
from planwright.presentation.step_sentence import effect_phrase
from planwright.records.effects.kept_effects import DoneEffect, Past
from planwright.records.effects.ledger import EffectCall
from planwright.records.effects.refusals import Refusals, RefusedCall
from planwright.records.stores import Stores
from planwright.state.invocation import Invocation
from planwright.state.loop_state import ToolCall

AGAIN = "it was done before in this run"
MAY_REPEAT = "it may repeat what was done before in this run"
DONE = "this run has done already"
ASKS_FROM: Risk = "Medium"
MOST_NAMED = 3


async def asking_again(
    calls: list[ToolCall], stores: Stores, invocation: Invocation, registry: Registry
) -> list[ToolCall]:
    """Answer the calls of a reply that were done or refused before; gate those whose like was done before."""
    read = []
    for call in calls:
        if call.checked is None or call.error:
            read.append(call)
        elif refusal := await _refused(call.checked, stores.refusals, invocation.run_id):
            no = f"not made: {refusal} Do not ask for it again."
            read.append(call.model_copy(update={"checked": None, "error": no}))
        else:
            step = await _kept_call(call.checked, stores, invocation, registry)
            read.append(
                call.model_copy(update={"checked": await gated_again(step, stores, invocation.run_id)})
            )
    return read


async def gated_again(checked: VerifiedStep, stores: Stores, run_id: str) -> VerifiedStep:
    """Gate one call, or one of a chain that makes such a call; making a chain changes nothing yet."""
    name = checked.step.capability or ""
    if checked.kept or checked.done_before or name == CREATE_CHAIN:
        return checked
    parts = checked.chain.calls if checked.chain else ()
    all_calls = [(part.capability, part.arguments) for part in parts] or [(name, checked.step.params)]
    for capability, args in all_calls:
        if checked.effect != "pure" and (past := await stores.forks.done_before(run_id, capability, args)):
            why = {"gated": True, "asks": True, "reason": past.reason, "done_before": past.run_id}
            return checked.model_copy(update=why)
        if no := await stores.refusals.of_call(run_id, capability, args):
            return checked.model_copy(update={"gated": True, "asks": True, "reason": f"before: {no}"})
    return checked


async def not_done_again(
    checked: list[VerifiedStep], results: Mapping[str, StepResult], stores: Stores, run_id: str, rules: Rules
) -> list[VerifiedStep]:
    """Keep or gate the steps of a new plan that were done before; those with `results` are marked as kept.

    A fork with its plan keeps what was done.
    """
    registry, policy = rules.registry, rules.call_context.policy.hash
    fork = await stores.forks.of(run_id)
    forked = fork is not None and fork.plan is None
    left = await stores.ledger.done_before(run_id, [entry.uid for entry in checked])
    mine = {entry.uid for entry in checked} - {entry.uid for entry in rules.done.values()}
    done = await stores.work.done_beside(run_id, mine) if results else []
    earlier = {step.uid: step for step in await stores.plans.steps_of_run(run_id)} if results else {}
    read = []
    for entry in checked:
        if result := results.get(entry.uid):
            keeps = result.status == "completed" and entry.effect != "pure"
            read.append(_as_made(entry, earlier.get(entry.uid, entry)) if keeps else entry)
            continue
        step = fixed_by_its_step(kept_step(entry, left, run_id, registry, policy), done, run_id)
        read.append(await gated_again(step, stores, run_id) if forked else step)
    return read


def _as_made(checked: VerifiedStep, earlier: VerifiedStep) -> VerifiedStep:
    """Mark a step as kept, with the consent that its call needed; what was read since is no part of it."""
    consent = {name: getattr(earlier, name) for name in ("gated", "asks", "reason", "policy", "tainted")}
    return checked.model_copy(update={**consent, "kept": checked.uid})


def kept_step(
    checked: VerifiedStep,
    left: Mapping[tuple[str, str], list[str]],
    run_id: str,
    registry: Registry,
    policy: str,
) -> VerifiedStep:
    """Decide over one step by what is left of the effects of earlier plans; it takes what it keeps.

    One whose arguments are not known yet is decided over when they are, in front of its call.
    """
    name, tool = checked.step.capability or "", registry.get(checked.step.capability or "")
    if tool is None or checked.effect == "pure" or checked.step.agentic or checked.chain:
        return checked
    if checked.step.references:
        if checked.gated or not any(capability == name for capability, _ in left):
            return checked
        undecided = PolicyEvidence(rule="", version=policy, undecided=True)
        return checked.model_copy(update={"gated": True, "policy": undecided, "reason": MAY_REPEAT})
    keys = left.get((name, _hash(tool, checked.step.params)))
    if keys is None:
        return checked
    if keys:
        keeps = {"kept": keys.pop(0), "gated": False, "asks": False, "policy": None, "reason": AGAIN}
        return checked.model_copy(update=keeps)
    again = {"gated": True, "asks": True, "reason": AGAIN, "done_before": run_id}
    return checked.model_copy(update=again)


def fixed_by_its_step(checked: VerifiedStep, done: Sequence[DoneEffect], run_id: str) -> VerifiedStep:
    """Gate one more call of a capability by which earlier plans have done something, and name what they did.

    An effect that is done is fixed by its step: with other values, or under another id, it may well be the
    same thing once more. Below Medium risk only the same call counts.
    """
    name = checked.step.capability or ""
    like = [effect for effect in done if effect.capability == name]
    if not like or checked.kept or checked.effect == "pure" or checked.step.agentic or checked.chain:
        return checked
    if not (checked.done_before or at_least(checked.risk, ASKS_FROM)):
        return checked
    reason = f"{AGAIN if checked.done_before else DONE}: {effect_phrases(like)}"
    return checked.model_copy(update={"gated": True, "asks": True, "reason": reason, "done_before": run_id})


async def done_already(call: EffectCall, risk: Risk, stores: Stores) -> str:
    """Name what a run has done by the capability of a call before it, where a person is to know of that."""
    if not at_least(risk, ASKS_FROM) or not (like := await stores.work.done_before(call.place)):
        return ""
    return f"{DONE}: {effect_phrases(like)}"


def once_more(past: Past) -> str:
    """Say that a call would do once more what was done, and what that was."""
    return f"{AGAIN}: {effect_phrases(past.done)}"


def effect_phrases(effects: Sequence[DoneEffect]) -> str:
    """Name effects by their telling values, the newest first; of many only some."""
    newest = [*reversed(effects)]
    phrases = [effect_phrase(effect.capability, effect.args, effect.result) for effect in newest[:MOST_NAMED]]
    more = len(newest) - len(phrases)
    return "; ".join([*phrases, *([f"and {more} more"] if more else [])])


async def _refused(checked: VerifiedStep, refusals: Refusals, run_id: str) -> RefusedCall | None:
    name, args = checked.step.capability or "", checked.step.params
    return await refusals.of_call(run_id, name, args, sources=False)


async def _kept_call(
    checked: VerifiedStep, stores: Stores, invocation: Invocation, registry: Registry
) -> VerifiedStep:
    """Let the record of what was done count for a call of a model, or gate what would be one more."""
    tool = registry.get(checked.step.capability or "")
    if tool is None or checked.effect == "pure" or checked.chain or tool.name == DELEGATE:
        return checked
    call = effect_call(tool, checked.step.params, site_of(checked, "", invocation))
    past = await stores.ledger.keep(call)
    if past.key:
        return checked.model_copy(update={"kept": past.key, "gated": False, "asks": False, "reason": AGAIN})
    if past.again:
        again = {"gated": True, "asks": True, "reason": once_more(past)}
        return checked.model_copy(update={**again, "done_before": invocation.run_id})
    if reason := await done_already(call, checked.risk, stores):
        again = {"gated": True, "asks": True, "reason": reason, "done_before": invocation.run_id}
        return checked.model_copy(update=again)
    return checked


def _hash(tool: Capability, params: dict[str, JsonValue]) -> str:
    """Hash all the arguments of a call; empty for one that would not be made."""
    try:
        return sha256(check_arguments(tool, params))
    except CapabilityRejected:
        return ""
