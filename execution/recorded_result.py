"""The result of a call as it is recorded: what it brought, its arguments, and what was begun before all else.

Between a crash and the resume people change policy, code and tools. None of that makes an effect unsent.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from pydantic import JsonValue

from planwright.capabilities.arguments import as_called
from planwright.capabilities.registry import Registry
from planwright.domain.doubt import UNDECIDED
from planwright.domain.errors import (
    CapabilityError,
    CapabilityRejected,
    CapabilityUnavailable,
    EffectInDoubt,
    LimitExceeded,
    PlanwrightError,
)
from planwright.domain.hashing import canonical_json, json_text
from planwright.domain.references import resolve
from planwright.domain.results import StepResult
from planwright.domain.step_ends import bare_result, failed
from planwright.domain.verified_step import VerifiedStep
from planwright.records.effects.doubts import begun_uids
from planwright.records.effects.ledger import Recorded
from planwright.records.stores import Stores
from planwright.state.invocation import Invocation
from planwright.store.blobs import Blobs


async def completed(
    checked: VerifiedStep, output: JsonValue, args: Mapping[str, JsonValue], blobs: Blobs, limit: int
) -> StepResult:
    """Make the result of a call that ended well; what is longer than `limit` characters goes to the blobs.

    The arguments are kept where neither the plan nor the ledger has them: of reads that use earlier results.
    """
    inline, blob = await _fitted(output, blobs, limit)
    known, args_blob = None, None
    if checked.effect == "pure" and checked.step.references:
        known, args_blob = await _fitted(dict(args), blobs, limit)
    return StepResult(
        uid=checked.uid,
        step_id=checked.step.id,
        capability=checked.step.capability or "",
        status="completed",
        output=inline,
        blob=blob,
        args=known if isinstance(known, dict) else None,
        args_blob=args_blob,
    )


async def by_record(
    checked: VerifiedStep, result: StepResult, known: Recorded | None, blobs: Blobs, limit: int
) -> StepResult:
    """Correct the result of a step that brought nothing, by what the ledger has of its effect.

    After a crash it may have been sent, or done, before it was cancelled, out of time or forbidden. A call
    that nobody has answered has failed: it may have arrived.
    """
    if known is None or result.code == EffectInDoubt.code:
        return result
    if known.status == "failed":
        if known.code != CapabilityUnavailable.code or result.status == "failed":
            return result
        return bare_result(checked, "failed", code=known.code, error=known.error)
    if known.status == "done":
        return await completed(checked, known.result, {}, blobs, limit)
    return bare_result(checked, "failed", code=EffectInDoubt.code, error=f"{result.error}: maybe it happened")


async def full_output(stores: Stores, result: StepResult) -> JsonValue:
    """Read a step's whole output, from the blob store when it is large."""
    if result.blob is None:
        return result.output
    loaded: JsonValue = json.loads(await asyncio.to_thread(stores.blobs.get, result.blob))
    return loaded


async def _fitted(value: JsonValue, blobs: Blobs, limit: int) -> tuple[JsonValue, str | None]:
    text = json_text(value)
    return (value, None) if len(text) <= limit else (None, await asyncio.to_thread(blobs.put, text))


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
            result = bare_result(checked, "failed", code="budget_exceeded", error=str(error))
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


async def known_so_far(
    checked: Sequence[VerifiedStep], results: Mapping[str, StepResult], request: str, stores: Stores
) -> dict[str, JsonValue]:
    """Read what references of a plan may name by now: the request, and outputs of its completed steps.

    The run may have results of other steps under the same ids, of an earlier plan: they are left out.
    """
    own = [results[entry.uid] for entry in checked if entry.uid in results]
    return {"steps": await outputs_by_id(own, stores), "input": {"request": request}}


async def outputs_by_id(results: Iterable[StepResult], stores: Stores) -> dict[str, JsonValue]:
    """Read the outputs of completed steps as references name them, by step id."""
    done = [result for result in results if result.status == "completed"]
    return {result.step_id: {"output": await full_output(stores, result)} for result in done}


def known_values(
    checked: Sequence[VerifiedStep],
    results: Mapping[str, StepResult],
    scope: Mapping[str, JsonValue],
    registry: Registry,
) -> dict[str, dict[str, JsonValue]]:
    """List the arguments of steps that will be sent otherwise than they are planned, by step id.

    Their references lead to results that are there, in `scope`, or a call converts them.
    """
    resolved: dict[str, dict[str, JsonValue]] = {}
    for entry in checked:
        if entry.uid in results or entry.step.literal or not entry.step.references:
            continue
        with suppress(CapabilityRejected):  # a reference that leads nowhere yet
            value = resolve(dict(entry.step.params), scope)
            resolved[entry.step.id] = value if isinstance(value, dict) else {}
    return as_sent(checked, resolved, registry)


def as_sent(
    checked: Sequence[VerifiedStep], resolved: Mapping[str, dict[str, JsonValue]], registry: Registry
) -> dict[str, dict[str, JsonValue]]:
    """Spell known arguments of steps as they will be sent, by step id, where they are planned otherwise."""
    values: dict[str, dict[str, JsonValue]] = {}
    for entry in checked:
        capability, known = registry.get(entry.step.capability or ""), resolved.get(entry.step.id)
        if capability is None or (known is None and entry.step.references and not entry.step.literal):
            continue
        params = dict(entry.step.params)
        sent = as_called(capability, params if known is None else known, literal=True)
        other = {
            name: sent[name]
            for name in params
            if name in sent and canonical_json(sent[name]) != canonical_json(params[name])
        }
        if other:
            values[entry.step.id] = other
    return values
