"""The result of a call as it is recorded: what it brought and, where nothing else tells, its arguments."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping

from pydantic import JsonValue

from planwright.checkpoints.blobs import Blobs
from planwright.checkpoints.effects.ledger import Recorded
from planwright.checkpoints.stores import Stores
from planwright.domain.errors import CapabilityUnavailable, EffectInDoubt
from planwright.domain.hashing import json_text
from planwright.domain.results import StepResult
from planwright.domain.step_ends import bare_result
from planwright.domain.verified_step import VerifiedStep


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
