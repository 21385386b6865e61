"""Reviewing an edit at the door, by the rules of `verify`, before any of it is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

from planwright.approvals.edit import read_edit
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.chains.run_chains import allowed_in_run
from planwright.capabilities.registry import Registry
from planwright.checkpoints.serde import storable
from planwright.domain.errors import GateError
from planwright.domain.plan import Plan
from planwright.domain.plan_diff import changes
from planwright.domain.results import Finding
from planwright.domain.run_context import read_context
from planwright.planning.rules import Rules
from planwright.planning.step_gates import dropped
from planwright.planning.verification import close_plan, examine
from planwright.records.consent.gate import Gate
from planwright.records.effects.effect_limits import effects_had
from planwright.records.stores import Stores
from planwright.settings.profile import in_force
from planwright.settings.settings import Settings
from planwright.state.agent_state import ModelRoute

Review = Callable[[Gate, object, datetime, ModelRoute | None], Awaitable[Plan]]


def review(registry: Registry, stores: Stores, settings: Settings, call_context: CallContext) -> Review:
    """Make the review of edits: a pure look at an edited plan, and nothing written."""

    async def review(gate: Gate, edit: object, at: datetime, route: ModelRoute | None) -> Plan:
        """Read an edit as the next revision. Raises GateError with the findings when it may not run.

        `route` is the model of the gate's run.
        """
        base = await stores.plans.read(gate.run_id, gate.shown_hash)
        if base is None:
            raise GateError(f"the plan of gate {gate.gate_id} is not on record", "reject it, then ask again")
        edited, _ = close_plan(read_edit(edit, base, gate.card))
        _check_storable(edited)
        results = {result.uid: result for result in await stores.ledger.settled_steps(gate.run_id)}
        run = await stores.runs.latest(gate.thread_id)
        profile = in_force(settings, read_context(run.context if run else None))
        spent = await stores.budgets.spent(gate.run_id, at)
        own_context = call_context.on_behalf_of(gate.tenant, profile.agent)
        allowed = await allowed_in_run(registry, call_context.chains, gate.run_id, profile)
        rules = Rules(allowed, settings, own_context, route, profile)
        effects = await effects_had(gate.run_id, stores.database)
        checked, findings, _ = await asyncio.to_thread(
            examine, edited, rules, gate.run_id, results, spent, effects
        )
        findings += dropped(checked, await stores.plans.steps_of_run(gate.run_id), registry)
        if findings:
            raise edit_refusal(gate, findings)
        if edited.plan_hash == base.plan_hash or not changes(base, edited):
            raise GateError(
                "the edit changes nothing", f"approve it instead: planwright approve {gate.gate_id}"
            )
        return edited

    return review


def edit_refusal(gate: Gate, findings: list[Finding]) -> GateError:
    """Name all that is wrong with an edit."""
    lines = "\n".join(f"- {finding}" for finding in findings)
    return GateError(
        f"the edited plan may not run:\n{lines}", f"mend the edit; gate {gate.gate_id} is still open"
    )


def _check_storable(plan: Plan) -> None:
    try:
        storable(plan.model_dump(mode="json"))
    except (TypeError, ValueError, RecursionError) as error:
        raise GateError(
            f"the edited plan holds what cannot be stored: {error}", "use plain text and numbers"
        ) from error
