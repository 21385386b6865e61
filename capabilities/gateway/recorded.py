"""What the ledger says of a call that was begun before."""

from __future__ import annotations

from pydantic import JsonValue

from planwright.checkpoints.effects.ledger import EffectCall, Recorded
from planwright.domain.errors import (
    CapabilityForbidden,
    CapabilityRejected,
    EffectInDoubt,
    StillUnderWay,
)


def from_record(call: EffectCall, known: Recorded) -> tuple[JsonValue] | None:
    """Answer with a recorded result; None when the call has to be made.

    Raises what the call ended with: CapabilityRejected, CapabilityForbidden or EffectInDoubt.
    """
    if known.status == "done":
        return (known.result,)
    if known.status == "failed":
        forbidden = known.code == CapabilityForbidden.code
        raise (CapabilityForbidden if forbidden else CapabilityRejected)(known.error)
    if known.status == "intent" and known.sender and call.effect != "idempotent":
        raise StillUnderWay(
            f"{call.capability} may still be sent by {known.sender}, which lives",
            "end that process, then look at the receiver",
        )
    if known.status == "in_doubt":
        raise effect_in_doubt(call)
    return None


def effect_in_doubt(call: EffectCall) -> EffectInDoubt:
    """Say that nobody knows what became of a call."""
    return EffectInDoubt(
        f"nobody knows whether {call.capability} happened: the process ended in the middle of it",
        f"look for it at the receiver (key {call.sent_key[:16]}), then decide by hand",
    )
