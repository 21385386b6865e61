"""The result of a call as it is recorded: what it brought and, where nothing else tells, its arguments."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from pydantic import JsonValue

from planwright.checkpoints.blobs import Blobs
from planwright.graph.canonical import spelled
from planwright.graph.plan import CheckedStep
from planwright.graph.results import StepResult


async def completed(
    checked: CheckedStep, output: JsonValue, args: Mapping[str, JsonValue], blobs: Blobs, limit: int
) -> StepResult:
    """Make the result of a call that ended well; what is longer than `limit` characters goes to the blobs.

    The arguments are kept where neither the plan nor the ledger has them: of reads that use earlier results.
    """
    said, blob = await _fitted(output, blobs, limit)
    known, args_blob = None, None
    if checked.effect == "pure" and checked.step.references:
        known, args_blob = await _fitted(dict(args), blobs, limit)
    return StepResult(
        uid=checked.uid,
        step_id=checked.step.id,
        capability=checked.step.capability or "",
        status="completed",
        output=said,
        blob=blob,
        args=known if isinstance(known, dict) else None,
        args_blob=args_blob,
    )


async def _fitted(value: JsonValue, blobs: Blobs, limit: int) -> tuple[JsonValue, str | None]:
    text = spelled(value)
    return (value, None) if len(text) <= limit else (None, await asyncio.to_thread(blobs.put, text))
