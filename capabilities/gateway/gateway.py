"""The gateway: the only way to an effect.

A call passes registry, plan, schema, policy and gate, the locks of what it overwrites, budget and
ledger, in this order, and fails closed at the first that refuses.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

from pydantic import JsonValue

from planwright.capabilities.arguments import check_arguments
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.chains.run_chains import called_capability
from planwright.capabilities.contract import Capability
from planwright.capabilities.gateway.attempts import CallAttempts, CallListener
from planwright.capabilities.gateway.call_site import CallSite, effect_call
from planwright.capabilities.gateway.locks import ResourceLocks
from planwright.capabilities.gateway.permit import Admitted, GateCalls, Permit, check_step_gates
from planwright.capabilities.gateway.pins import check_files, check_pin, code_pin, without_files
from planwright.capabilities.gateway.read_files import files_read
from planwright.capabilities.gateway.recorded import recorded
from planwright.capabilities.gateway.redact import refuse_secrets
from planwright.capabilities.policy.consent import Judgement, consent_to
from planwright.capabilities.registry import Registry
from planwright.domain.errors import (
    CallRefused,
    CapabilityChanged,
    CapabilityForbidden,
    GateError,
)
from planwright.domain.hashing import sha256
from planwright.domain.lease import Lease
from planwright.domain.verified_step import VerifiedStep
from planwright.records.budget_usage import Amount, BudgetedCall
from planwright.records.consent.approvers import check_approvals
from planwright.records.consent.gate import gate_id
from planwright.records.effects.begun_calls import begun_call
from planwright.records.effects.kept_effects import NEW, Past
from planwright.records.effects.ledger import EffectCall
from planwright.records.plans import PlanKind, RunnablePlan
from planwright.records.stores import Stores
from planwright.settings.settings import Settings
from planwright.store.reader import ReadOnce


class Gateway:
    """Carry out capability calls for verified steps."""

    def __init__(
        self, registry: Registry, stores: Stores, settings: Settings, call_context: CallContext
    ) -> None:
        self.registry = registry
        self.call_context = call_context
        self._stores = stores
        self._settings = settings
        self._locks = ResourceLocks()
        self._plans = ReadOnce(self._read_plan)
        self._approved_gates = ReadOnce(self._read_gate)

    async def call(
        self, name: str, params: dict[str, JsonValue], site: CallSite, listener: CallListener
    ) -> JsonValue:
        """Make one call and return its result, recorded or new.

        Raises CapabilityRejected (final), CapabilityUnavailable (after all retries),
        EffectInDoubt, BudgetExceeded, LedgerConflict or RunStopped.
        """
        capability, args, plan = await self._known(name, params, site)
        if capability.chain:
            raise CapabilityForbidden(f"{name} is a chain: it is called step by step")
        past = await self.past(capability, args, site)
        if past.key:
            listener.reused(past.key, past.uid)
            return past.result
        async with self._locks.hold(capability.overwrites(args, self.call_context)):
            listener.check_turn()
            ask = partial(self._permit, capability, args, site, plan, again=past.again)
            call = await self._named(capability, args, site, plan, await ask())
            attempts = self.attempts(capability, args, call.sent_key, site, listener)
            attempts.permit = ask
            await self._count(name, site, call.key)
            if capability.effect == "pure":
                return await attempts.make()
            return await recorded(call, attempts, self._stores, site.profile.limits, self.call_context.now)

    async def _named(
        self,
        capability: Capability,
        args: dict[str, JsonValue],
        site: CallSite,
        plan: RunnablePlan,
        permit: Permit,
    ) -> EffectCall:
        """Name a call that may be made as the ledger does, with how it was allowed."""
        call = replace(
            effect_call(capability, args, site),
            undo_key=await self._stores.undos.key_of(site.lease.run_id, site.checked.step.id),
            unasked=not permit.by_person,
            again=permit.again,
        )
        if capability.effect == "idempotent" and call.undo_key is None:
            first_key = await self._stores.ledger.first_key(call, frozenset(plan.steps))
            call = replace(call, first_key=first_key)
        return call

    async def admit(self, name: str, params: dict[str, JsonValue], site: CallSite) -> Admitted:
        """Let a call pass registry, plan, pins, schema, policy and gate; return it with all its arguments.

        Raises CapabilityRejected. Nothing is called, and nothing is written down.
        """
        capability, args, plan = await self._known(name, params, site)
        permit = await self._permit(capability, args, site, plan)
        return Admitted(capability, args, permit.by_person, frozenset(plan.steps))

    async def past(self, capability: Capability, args: dict[str, JsonValue], site: CallSite) -> Past:
        """Find what the run has done of a call under an earlier plan; that record counts for it from now on.

        Raises CapabilityForbidden where verification chose a record that is not there.
        """
        if capability.effect == "pure":
            return NEW
        past = await self._stores.ledger.keep(effect_call(capability, args, site))
        if site.checked.kept and past.key != site.checked.kept:
            raise CapabilityForbidden(f"{capability.name} is not on record as done, as it was shown")
        return past

    async def _known(
        self, name: str, params: dict[str, JsonValue], site: CallSite
    ) -> tuple[Capability, dict[str, JsonValue], RunnablePlan]:
        """Let a call pass registry, plan, pins and schema; return it narrowed to all its arguments."""
        capability = called_capability(self.registry, name, site.checked, site.profile)
        plan = await self.runnable(site.lease, site.plan_hash, site.checked.uid)
        if not site.checked.is_as(plan.steps.get(site.checked.uid)):
            raise CapabilityForbidden(f"{name} is not a step of an approved plan of this run")
        await self.check_new(site.checked, site.lease)
        if not site.checked.gated and site.checked.known not in ("", sha256(params)):
            raise CapabilityChanged(f"the arguments of {name} have changed", "it is asked for again")
        args = await self._arguments(capability, params)
        return self.narrowed(capability, args, site), args, plan

    def narrowed(self, capability: Capability, args: dict[str, JsonValue], site: CallSite) -> Capability:
        """Narrow a capability to a call; one of which only a person has spoken keeps its verified effect."""
        narrowed = capability.narrowed(args, replace(self.call_context, tenant=site.lease.tenant))
        return narrowed.in_effect(site.checked.effect) if capability.is_unknown else narrowed

    async def runnable(self, lease: Lease, plan_hash: str, uid: str) -> RunnablePlan:
        """Read the approved plan on record that holds a step; what the state says is not trusted.

        The steps of a plan ask together, and read it once. One that is missing reads it anew: the
        same plan again has other uids where a step had failed.
        """
        plan = await self.runnable_plan(lease, plan_hash)
        if uid not in plan.steps:
            self._plans.forget((lease, plan_hash))
            plan = await self.runnable_plan(lease, plan_hash)
        return plan

    async def approved(self, lease: Lease, plan_hash: str, uid: str) -> VerifiedStep | None:
        """Look a step up in the approved plan on record."""
        return (await self.runnable(lease, plan_hash, uid)).steps.get(uid)

    async def runnable_plan(self, lease: Lease, plan_hash: str) -> RunnablePlan:
        """Read a plan from the record, once; without steps when nobody approved it."""
        return await self._plans.get((lease, plan_hash))

    async def _read_plan(self, key: tuple[Lease, str]) -> RunnablePlan:
        return await self._stores.plans.runnable(key[0].run_id, key[1])

    async def _gate(self, lease: Lease, id_: str) -> GateCalls:
        """Read a gate from the record, once where it was approved: that stays, and its card may be long."""
        gate = await self._approved_gates.get((lease, id_))
        if not gate.approved:
            self._approved_gates.forget((lease, id_))
        return gate

    async def _read_gate(self, key: tuple[Lease, str]) -> GateCalls:
        return GateCalls(await self._stores.gates.read(key[1]))

    def as_pinned(self, checked: VerifiedStep) -> bool:
        """Say whether a step would call what was verified, under the same policy and catalog."""
        return code_pin(checked, self.registry, self.call_context) == without_files(checked.pin)

    def check_pin(self, checked: VerifiedStep) -> None:
        """Raise CapabilityChanged for a step that would call something else than was verified."""
        check_pin(checked, self.registry, self.call_context)

    async def check_new(self, checked: VerifiedStep, lease: Lease) -> None:
        """Check the pin of what is new: what has begun goes on, and is judged by the policy of now.

        A step of a model or a chain goes on once it had an effect, and one call where it can be sent again
        under its key or looked up. Raises CapabilityChanged.
        """
        try:
            self.check_pin(checked)
        except CapabilityChanged:
            if checked.step.agentic or checked.chain:
                begun = bool((await self._stores.work.of_run(lease.run_id)).under(checked.uid))
            else:
                call = await begun_call(self._stores.database, lease, checked.uid)
                now = self.registry.get(checked.step.capability or "")
                begun = bool(call and now and call.effect == now.effect != "blind")
            if not begun:
                raise

    async def _arguments(self, capability: Capability, params: dict[str, JsonValue]) -> dict[str, JsonValue]:
        args = check_arguments(capability, params)
        refuse_secrets(capability, args, self.call_context.redactor)
        if capability.preflight:
            await asyncio.to_thread(capability.check, args, self.call_context)
        return args

    def consent(
        self, capability: Capability, args: dict[str, JsonValue], site: CallSite, kind: PlanKind
    ) -> Judgement:
        """Judge a call whose arguments are known, narrowed to them. Raises CapabilityForbidden for a deny."""
        ask_from = site.ask_from if kind == "chain" else self._settings.approval.threshold_of(kind)
        checked = site.checked
        requester = (site.lease.tenant, site.profile.agent, site.words)
        context = self.call_context.on_behalf_of(
            *requester, tainted=checked.tainted, decided=checked.decisions
        )
        return consent_to(capability, args, context, ask_from)

    async def _permit(
        self,
        capability: Capability,
        args: dict[str, JsonValue],
        site: CallSite,
        plan: RunnablePlan,
        *,
        again: bool = False,
    ) -> Permit:
        """Raise CapabilityForbidden for a call that nobody approved; say whether a person decided over it."""
        await check_files(site.checked, plan.approved, self.registry, self.call_context)
        judged = self.consent(capability, args, site, plan.kind)
        if capability.varies and capability.graver_than(site.checked.risk, site.checked.effect):
            grave = f"{capability.risk}, {capability.effect}"
            raise CapabilityForbidden(f"{capability.name} was not approved as {grave}")
        named = await check_step_gates(self._stores.gates, site.lease.run_id, site.checked, args)
        own_gate = judged.own_gate or site.checked.gated or again
        revocable = capability.is_unknown or site.checked.mode == "delegated"
        if judged.own_gate and revocable and not site.checked.gated and plan.kind != "chain":
            why = "nothing says what it may do" if capability.is_unknown else "nobody delegates it any more"
            raise CapabilityChanged(f"{capability.name} needs a person: {why}", "it is asked for again")
        if not (own_gate or judged.asks) or (plan.approved and not own_gate):
            if named is None:
                await self.refuse_again(capability, args, site)
            return Permit(plan.approved or named is not None)
        try:
            id_ = gate_id(site.lease.run_id, "step", site.checked.gate_subject)
            calls = await self._gate(site.lease, id_)
        except GateError as error:
            raise CapabilityForbidden(f"{capability.name} needs a person: {judged.reason}") from error
        if not calls.opens(args, site.checked, files_read(capability, args, self.call_context)):
            raise CapabilityForbidden(f"nobody approved {capability.name} with these arguments")
        gate = calls.gate
        try:
            check_approvals(gate.gate_id, gate.approvals, judged.ruling, gate.card)
        except GateError as error:
            raise CapabilityForbidden(error.cause) from error
        by_a_person = gate.channel not in ("rule", "policy")
        if not by_a_person:
            await self.refuse_again(capability, args, site)
        return Permit(by_a_person, again=by_a_person and calls.says_again(site.checked))

    async def refuse_again(
        self, capability: Capability, args: dict[str, JsonValue], site: CallSite, *, sources: bool = True
    ) -> None:
        """Raise CallRefused for a call that was refused before in its run, or in its `sources`, if a fork."""
        of_call = self._stores.refusals.of_call
        if refusal := await of_call(site.lease.run_id, capability.name, args, sources=sources):
            raise CallRefused(f"{refusal} It is not made in this run.")

    async def _count(self, name: str, site: CallSite, key: str) -> None:
        """Use up one call of the run, and of the lanes it is made in, once for each key."""
        limits = site.profile.limits
        if limits.tool_calls is None and not site.lanes:
            return
        lease, now = site.lease, self.call_context.now()
        call = BudgetedCall(lease.run_id, lease.tenant, name, "tool", Amount(calls=1), site.lanes)
        await self._stores.budgets.reserve(call, limits, now, id_=key, lease=lease)

    def attempts(
        self,
        capability: Capability,
        args: dict[str, JsonValue],
        key: str,
        site: CallSite,
        listener: CallListener,
    ) -> CallAttempts:
        """Prepare the attempts at a call, or the question to its receiver, under the key that it is sent."""
        lease, own = site.lease, self._settings.execution
        on_behalf = self.call_context.on_behalf_of(lease.tenant, site.profile.agent, site.words)
        context = on_behalf.for_call(lease.tenant, lease.run_id, key, lease, site.answers)
        timeout_s = site.checked.step.timeout_s or capability.timeout_s or own.step_timeout_s
        return CallAttempts(capability, args, context, timeout_s, own, listener)
