"""What a step has begun comes before all else that is wrong with it: nobody knows how that ended.

Between a crash and the resume people change policy, code and tools. None of that makes an effect unsent.
"""

from __future__ import annotations

from planwright.checkpoints.effects.begun_calls import begun_uids
from planwright.checkpoints.stores import Stores
from planwright.domain.doubt import UNDECIDED
from planwright.domain.errors import CapabilityError, EffectInDoubt, LimitExceeded, PlanwrightError
from planwright.domain.results import StepResult
from planwright.domain.step_ends import bare_result, failed
from planwright.domain.verified_step import VerifiedStep
from planwright.execution.recorded_result import by_record
from planwright.state.invocation import Invocation
from planwright.state.node import ended_by


class BegunEffects:
    """Look up what was begun within a step, at any depth: its own call, and those of its lanes and chains."""

    def __init__(self, stores: Stores, limit: int) -> None:
        self._stores = stores
        self._limit = limit

    async def uids(self, run_id: str) -> frozenset[str]:
        """Name the steps and calls of a run whose effect was begun and not heard of."""
        return await begun_uids(self._stores.database, run_id)

    async def unmade(
        self, checked: VerifiedStep, error: PlanwrightError, invocation: Invocation
    ) -> StepResult:
        """Make the result of a call that brought nothing, corrected where its effect is on record."""
        if isinstance(error, CapabilityError):
            result = failed(checked, error)
        elif isinstance(error, LimitExceeded):
            result = bare_result(checked, "failed", code=ended_by(error), error=str(error))
        else:
            result = bare_result(checked, "failed", code="failed", error=error.cause)
        known = await self._stores.ledger.of_step(invocation.run_id, checked.uid)
        return await by_record(checked, result, known, self._stores.blobs, self._limit)

    async def first(self, checked: VerifiedStep, result: StepResult, invocation: Invocation) -> StepResult:
        """Put what a step has begun before the reason for which it did not succeed.

        The result names the first such effect as its `part`. Each of them is on record as in doubt then.
        """
        if result.status == "completed" or result.code in (EffectInDoubt.code, UNDECIDED):
            return result
        run_id = invocation.run_id
        if not await self.uids(run_id):
            return result
        work = await self._stores.work.of_run(run_id)
        begun = [effect for effect in work.under(checked.uid) if effect.status in ("intent", "in_doubt")]
        if not begun:
            return result
        why = f"{result.error}: maybe it happened"
        for effect in begun:
            call = work.calls.get(effect.uid)
            known = {"uid": effect.uid, "step_id": call.id if call else "", "capability": effect.capability}
            doubt = StepResult(**known, status="failed", code=EffectInDoubt.code, error=why)
            self._stores.ledger.settle_step(invocation.lease, doubt, invocation.clock())
        names = ", ".join(dict.fromkeys(effect.capability for effect in begun))
        doubtful = bare_result(checked, "failed", code=EffectInDoubt.code, error=f"{names}: {why}")
        return doubtful.model_copy(update={"part": begun[0].uid})
