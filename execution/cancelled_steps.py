"""A step that a cancelled run does not go on with: what it had begun before is asked after, and not done."""

from __future__ import annotations

from dataclasses import replace

from pydantic import JsonValue

from planwright.capabilities.gateway.attempts import CallListener
from planwright.capabilities.gateway.call_site import CallSite
from planwright.capabilities.gateway.gateway import Gateway
from planwright.capabilities.gateway.recorded import effect_in_doubt
from planwright.domain.doubt import recorded_doubt
from planwright.domain.errors import EffectInDoubt
from planwright.domain.results import StepResult
from planwright.domain.step_ends import CANCELLED, bare_result
from planwright.domain.verified_step import VerifiedStep
from planwright.execution.recorded_result import by_record
from planwright.records.effects.begun_calls import begun_call
from planwright.records.stores import Stores
from planwright.state.invocation import Invocation


class CancelledSteps:
    """Makes the results of steps that a cancelled run leaves."""

    def __init__(self, gateway: Gateway, stores: Stores, limit: int) -> None:
        self._gateway = gateway
        self._stores = stores
        self._limit = limit

    async def result(self, checked: VerifiedStep, invocation: Invocation) -> StepResult:
        """Say how a step ended that a cancelled run leaves; it, or a call in its place, may have begun."""
        why = f"cancelled by {invocation.cancelled_by}"
        stopped = bare_result(checked, "skipped", code=CANCELLED, error=why)
        if (result := await self._by_record(checked, stopped, invocation)) != stopped:
            return result
        other = await self._stores.alternatives.of(invocation.run_id, checked.uid)
        if other is None or (result := await self._by_record(other[1], stopped, invocation)) == stopped:
            return stopped
        return result.model_copy(update={"uid": checked.uid, "instead_of": checked.step.capability or ""})

    async def _by_record(
        self, checked: VerifiedStep, stopped: StepResult, invocation: Invocation
    ) -> StepResult:
        await self._ask_receiver(checked, invocation)
        known = await self._stores.ledger.of_step(invocation.run_id, checked.uid)
        return await by_record(checked, stopped, known, self._stores.blobs, self._limit)

    async def _ask_receiver(self, checked: VerifiedStep, invocation: Invocation) -> None:
        """Ask whether a queryable call happened that broke off, and record that; the call is not made.

        Only by the lookup that was verified with it. Where the receiver cannot tell, it is in doubt.
        """
        lease, ledger, now = invocation.lease, self._stores.ledger, invocation.clock
        call = await begun_call(self._stores.database, lease, checked.uid)
        if call is None or call.effect != "queryable" or not self._gateway.as_pinned(checked):
            return
        if self._stores.late_calls.has(call):
            return
        if (capability := self._gateway.registry.get(call.capability)) is None:  # called within the step
            return
        call = replace(call, undo_key=await self._stores.undos.key_of(lease.run_id, checked.step.id))

        def looked_up(times: int, outcome: str, cause: str, key: str) -> None:
            data: dict[str, JsonValue] = {"step_id": checked.step.id, "capability": call.capability}
            data |= {"uid": checked.uid, "outcome": outcome, "error": cause, "idempotency_key": key}
            invocation.emit("effect_lookup", data, f"{checked.uid}:{lease.token}:{times}")

        listener = CallListener(lambda *_: True, looked_up)
        site = CallSite(lease, "", checked, invocation.profile)
        attempts = self._gateway.attempts(capability, call.args, call.sent_key, site, listener)
        try:
            happened = await attempts.look_up(effect_in_doubt(call))
        except EffectInDoubt as error:
            await ledger.settle(call, "in_doubt", now(), error=recorded_doubt(error))
            return
        if happened is None:
            await ledger.settle(call, "failed", now(), error="it had not happened", code=CANCELLED)
        else:
            await ledger.settle(call, "done", now(), happened, attempts.remark)
