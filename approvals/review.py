"""Reviewing an edit at the door, by the rules of `verify`, before any of it is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime

from pydantic import JsonValue

from planwright.approvals.breadth import whole_scope
from planwright.approvals.edit import read_edit
from planwright.capabilities.arguments import check_arguments
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.chains.run_chains import allowed_in_run
from planwright.capabilities.gateway.read_files import files_read
from planwright.capabilities.gateway.redact import refuse_secrets
from planwright.capabilities.policy.consent import consent_to
from planwright.capabilities.registry import Registry
from planwright.checkpoints.serde import storable
from planwright.domain.errors import CapabilityRejected, GateError
from planwright.domain.plan import Plan
from planwright.domain.plan_diff import changes
from planwright.domain.results import Finding
from planwright.domain.risk import RISKS
from planwright.domain.run_context import read_context
from planwright.planning.rules import Rules
from planwright.planning.step_gates import dropped
from planwright.planning.verification import close_plan, examine
from planwright.records.consent.gate import Decision, Gate
from planwright.records.effects.effect_limits import effects_had
from planwright.records.stores import Stores
from planwright.settings.profile import RunProfile, in_force
from planwright.settings.settings import Settings
from planwright.state.agent_state import ModelRoute


class Reviewer:
    """Look at an edit by the rules of `verify`, and write nothing."""

    def __init__(
        self, registry: Registry, stores: Stores, settings: Settings, call_context: CallContext
    ) -> None:
        self._registry = registry
        self._stores = stores
        self._settings = settings
        self._call_context = call_context

    async def plan(self, gate: Gate, edit: object, at: datetime, route: ModelRoute | None) -> Plan:
        """Read an edit as the next revision. Raises GateError with the findings when it may not run.

        `route` is the model of the gate's run.
        """
        stores = self._stores
        base = await stores.plans.read(gate.run_id, gate.shown_hash)
        if base is None:
            raise GateError(f"the plan of gate {gate.gate_id} is not on record", "reject it, then ask again")
        edited, _ = close_plan(read_edit(edit, base, gate.card))
        _check_storable(edited.model_dump(mode="json"))
        results = {result.uid: result for result in await stores.ledger.settled_steps(gate.run_id)}
        allowed, context, profile = await self._terms(gate)
        spent = await stores.budgets.spent(gate.run_id, at)
        rules = Rules(allowed, self._settings, context, route, profile)
        effects = await effects_had(gate.run_id, stores.database)
        checked, findings, _ = await asyncio.to_thread(
            examine, edited, rules, gate.run_id, results, spent, effects
        )
        findings += dropped(checked, await stores.plans.steps_of_run(gate.run_id), self._registry)
        if findings:
            raise edit_refusal(gate, findings)
        if edited.plan_hash == base.plan_hash or not changes(base, edited):
            raise GateError(
                "the edit changes nothing", f"approve it instead: planwright approve {gate.gate_id}"
            )
        return edited

    async def calls(self, gate: Gate, decision: Decision) -> Decision:
        """Complete the arguments of edited calls. Raises GateError where one may not be made with them."""
        if decision.remember is not None:
            scope = await asyncio.to_thread(whole_scope, gate, decision.remember)
            decision = decision.model_copy(update={"remember": scope})
        if all(over.args is None for over in decision.by_call):
            return decision
        allowed, context, _ = await self._terms(gate)
        read = list(decision.by_call)
        for number, (call, over) in enumerate(zip(gate.calls, decision.by_call, strict=True)):
            if over.args is None:
                continue
            _check_storable(over.args)
            try:
                args = await asyncio.to_thread(_completed, call, over.args, allowed, context)
            except CapabilityRejected as error:
                cause = f"the edited call of {call['capability']} may not be made: {error.cause}"
                raise GateError(cause, f"{error.next_step}; gate {gate.gate_id} is still open") from error
            read[number] = over.model_copy(update={"args": args})
        return decision.model_copy(update={"by_call": tuple(read)})

    async def _terms(self, gate: Gate) -> tuple[Registry, CallContext, RunProfile]:
        """Read what the run of a gate may use, and for whom."""
        run = await self._stores.runs.latest(gate.thread_id)
        profile = in_force(self._settings, read_context(run.context if run else None))
        allowed = await allowed_in_run(self._registry, self._call_context.chains, gate.run_id, profile)
        return allowed, self._call_context.on_behalf_of(gate.tenant, profile.agent), profile


def _completed(
    call: Mapping[str, JsonValue], args: dict[str, JsonValue], allowed: Registry, context: CallContext
) -> dict[str, JsonValue]:
    """Fill in what arguments leave out.

    Raises CapabilityRejected where they are wrong, or ask for more than what was shown.
    """
    capability = allowed.get(str(call["capability"]))
    if capability is None:
        raise CapabilityRejected("it is gone", "reject it")
    checked = check_arguments(capability, args)
    refuse_secrets(capability, checked, context.redactor)
    if capability.preflight:
        capability.check(checked, context)
    narrowed = capability.narrowed(checked, context)
    graver = str(call["risk"]) not in RISKS[RISKS.index(narrowed.risk) :]
    if graver or consent_to(narrowed, checked, context, None).ruling.needs_names:
        raise CapabilityRejected("it asks for more than what was shown", "reject it, and say what you want")
    before = call["args"] if isinstance(call["args"], dict) else {}
    if files_read(narrowed, checked, context) != files_read(narrowed, before, context):
        raise CapabilityRejected("it passes on other files than were shown", "reject it, and name them")
    return checked


def edit_refusal(gate: Gate, findings: list[Finding]) -> GateError:
    """Name all that is wrong with an edit."""
    lines = "\n".join(f"- {finding}" for finding in findings)
    return GateError(
        f"the edited plan may not run:\n{lines}", f"mend the edit; gate {gate.gate_id} is still open"
    )


def _check_storable(edit: Mapping[str, JsonValue]) -> None:
    try:
        storable(edit)
    except (TypeError, ValueError, RecursionError) as error:
        raise GateError(
            f"the edit holds what cannot be stored: {error}", "use plain text and numbers"
        ) from error
