"""alternative: one other call instead of one that failed, within what was approved.

A model suggests it; the rules of a plan verify it. What needs a person is not made: the step fails,
and the critic may have a new plan made and asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from pydantic import JsonValue

from planwright.capabilities.arguments import check_arguments
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.gateway.call_site import CallSite, effect_call
from planwright.capabilities.gateway.verified_call import NamedCall, verified_call
from planwright.capabilities.policy.consent import consent_to
from planwright.capabilities.registry import Registry
from planwright.domain.chain import CREATE_CHAIN
from planwright.domain.errors import (
    CapabilityRejected,
    CapabilityUnavailable,
    LimitExceeded,
    ModelError,
    SetupError,
)
from planwright.domain.hashing import same, sha256
from planwright.domain.plan import CLOSING, DELEGATE, Plan, PlanStep
from planwright.domain.results import StepResult
from planwright.domain.risk import MODES, RISKS, at_least
from planwright.domain.verified_step import VerifiedStep
from planwright.models.calling import Models
from planwright.models.conversation.call_arguments import flaw_of
from planwright.models.json_reply import read_json
from planwright.models.model_calls import Prompt
from planwright.planning.taint import untrusted
from planwright.prompts import render, section
from planwright.records.effects.alternatives import plan_id
from planwright.records.stores import Stores
from planwright.settings.approval import ApprovalSettings
from planwright.settings.settings import Settings
from planwright.state.agent_state import StepTask
from planwright.state.invocation import Invocation

NONE = "NO_ALTERNATIVE"
CODES = frozenset((CapabilityRejected.code, CapabilityUnavailable.code))
MOST_LISTED = 8


class Alternative:
    """Find one other call for a step that failed; never more than one, also over a crash."""

    def __init__(
        self,
        models: Models,
        registry: Registry,
        stores: Stores,
        settings: Settings,
        call_context: CallContext,
    ) -> None:
        self._models = models
        self._registry = registry
        self._stores = stores
        self._settings = settings
        self._call_context = call_context

    async def instead_of(
        self, task: StepTask, args: dict[str, JsonValue], failed: StepResult, invocation: Invocation
    ) -> tuple[Plan, VerifiedStep] | None:
        """Suggest, verify and put on record; None when there is nothing that may be tried."""
        checked, route = task["checked"], task["route"]
        if not self._settings.alternative.enabled or failed.code not in CODES or route.embedded:
            return None
        if checked.effect != "pure" and failed.code == CapabilityUnavailable.code:
            return None  # it may have arrived
        if known := await self._stores.alternatives.of(invocation.run_id, checked.uid):
            return known
        if (fork := await self._stores.forks.of(invocation.run_id)) and fork.undo:
            return None  # what undoes an effect is declared, never a model's choice
        wanted = f"{checked.step.description} {checked.step.capability}"
        allowed = self._registry.within(invocation.profile)
        ranked = (allowed.get(name) for name in allowed.rank(wanted, len(allowed)))
        options = candidates(
            checked, (tool for tool in ranked if tool and tool.is_set_up), self._settings.approval
        )[:MOST_LISTED]
        if not options or invocation.cancelled_by:
            return None
        try:
            reply = await self._models.complete(
                route, self._prompt(task, args, failed, options), invocation, f"alternative:{checked.uid}"
            )
            capability, params = read_suggestion(reply, options)
            tainted = checked.tainted or any(tool.server for tool in options)
            original = checked.model_copy(update={"tainted": tainted})
            chosen = await self._verified(original, capability, params, args, invocation)
        except (ModelError, LimitExceeded, SetupError, CapabilityRejected):
            return None
        plan = Plan(plan_id=plan_id(checked.uid), goal=f"instead of {checked.uid}", steps=(chosen.step,))
        await self._stores.plans.record(
            invocation.lease, plan, [chosen], invocation.clock(), kind="alternative"
        )
        return plan, chosen

    def _prompt(
        self,
        task: StepTask,
        args: dict[str, JsonValue],
        failed: StepResult,
        options: list[Capability],
    ) -> Prompt:
        step, limits = task["checked"].step, self._settings.alternative
        tried = {"capability": step.capability, "params": args, "error": failed.error}
        tools = [{"name": t.name, "description": t.description, "params": t.args_schema} for t in options]
        message = [
            section("goal", task["goal"]),
            section("task", step.description),
            section("expected", step.expected_output),
            section("failed", tried, foreign=True),
            section("capabilities", tools, foreign=any(tool.server for tool in options)),
        ]
        return Prompt(
            "alternative",
            render("alternative"),
            "".join(message),
            max_tokens=limits.max_tokens,
            temperature=limits.temperature,
        )

    async def _verified(
        self,
        failed: VerifiedStep,
        tool: Capability,
        params: dict[str, JsonValue],
        tried: dict[str, JsonValue],
        invocation: Invocation,
    ) -> VerifiedStep:
        """Check a suggestion as a plan is checked. Raises CapabilityRejected."""
        args = check_arguments(tool, params)
        if flaw := flaw_of(args):
            raise CapabilityRejected(flaw)
        if tool.name == failed.step.capability and same(args, check_arguments(tool, tried)):
            raise CapabilityRejected("it is the call that failed")
        if tool.preflight:
            await asyncio.to_thread(tool.check, args, self._call_context)
        tool = tool.narrowed(args, self._call_context)
        requester = (invocation.context.tenant, invocation.profile.agent, invocation.words)
        name = failed.step.capability or ""
        tainted = failed.tainted or untrusted([name], self._registry)  # the error may hold others' words
        context = self._call_context.on_behalf_of(*requester, tainted=tainted)
        judged = consent_to(tool, args, context, self._settings.approval.of_plan)
        if judged.asks:
            raise CapabilityRejected(judged.reason)
        step = PlanStep(
            id=failed.step.id, capability=tool.name, params=args, description=failed.step.description
        )
        uid = f"step_{sha256([invocation.run_id, failed.uid, 'instead', tool.name, args])[:16]}"
        call = NamedCall(step, uid, failed.needs)
        chosen = verified_call(call, tool, judged, self._registry, context)
        await self._check_new(chosen, tool, failed.uid, invocation)
        return chosen

    async def _check_new(
        self, chosen: VerifiedStep, capability: Capability, instead_of: str, invocation: Invocation
    ) -> None:
        """Raise CapabilityRejected for a call that a person said no to, or that would be done again."""
        args, run_id = chosen.step.params, invocation.run_id
        if await self._stores.refusals.of_call(run_id, capability.name, args):
            raise CapabilityRejected("it was refused before")
        site = CallSite(invocation.lease, "", chosen, invocation.profile)
        call = replace(effect_call(capability, args, site), within=instead_of)
        if capability.effect != "pure" and (await self._stores.ledger.keep(call)).again:
            raise CapabilityRejected("it was done before")


def candidates(
    failed: VerifiedStep, tools: Iterable[Capability], approval: ApprovalSettings
) -> list[Capability]:
    """List what may be called instead of a step without asking a person again.

    Reading replaces reading. A call with an effect replaces one only where no person has to see it:
    it is not graver than the step, and below the risk from which plans are approved.
    """
    return [tool for tool in tools if inside_grant(failed, tool, approval)]


def inside_grant(failed: VerifiedStep, tool: Capability, approval: ApprovalSettings) -> bool:
    """Say whether a capability stays inside the grant of a failed step."""
    if tool.name in (*CLOSING, DELEGATE, CREATE_CHAIN) or failed.gated or failed.gates:
        return False
    if failed.effect == "pure" or tool.effect == "pure":
        return failed.effect == tool.effect == "pure" and tool.mode == "read_only" and tool.risk == "None"
    milder = MODES.index(tool.mode) <= MODES.index(failed.mode) and tool.mode in MODES[:3]
    milder = milder and RISKS.index(tool.risk) <= RISKS.index(failed.risk)
    seen_from = approval.of_plan
    unseen = approval.plan != "always" and (seen_from is None or not at_least(tool.risk, seen_from))
    return milder and unseen


def read_suggestion(reply: str, options: list[Capability]) -> tuple[Capability, dict[str, JsonValue]]:
    """Read a suggestion. Raises ModelOutputInvalid or CapabilityRejected for none of those listed."""
    if NONE in reply:
        raise CapabilityRejected("there is no alternative")
    reply_fields, _ = read_json(reply)
    capability = next((tool for tool in options if tool.name == reply_fields.get("capability")), None)
    params = reply_fields.get("params")
    if capability is None or not isinstance(params, dict):
        raise CapabilityRejected("it is none of the capabilities listed")
    return capability, params
