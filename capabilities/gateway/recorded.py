"""An effect between its intent and its record, and what the ledger says of one that was begun before."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from pydantic import JsonValue

from planwright.capabilities.gateway.attempts import CallAttempts
from planwright.domain.doubt import FIND_OUT, nobody_knows, recorded_doubt
from planwright.domain.errors import (
    BrokeOff,
    CapabilityForbidden,
    CapabilityRejected,
    CapabilityUnavailable,
    EffectInDoubt,
    StillUnderWay,
)
from planwright.records.consent.call_question import CallAsks
from planwright.records.effects.ledger import EffectCall, Recorded
from planwright.records.stores import Stores
from planwright.settings.agents import RunBudgetSettings

Now = Callable[[], datetime]


async def recorded(
    call: EffectCall, attempts: CallAttempts, stores: Stores, limits: RunBudgetSettings, now: Now
) -> JsonValue:
    """Make a call between its intent and its record, or answer from the record.

    Raises what the call ended with, EffectInDoubt where nobody knows, CallAsks where it asks a person first,
    LeaseLost where its run was lost.
    """
    late_calls = stores.late_calls
    with late_calls.awaited(call, now):
        known = await stores.ledger.intend(call, now(), limits)
        if not known.fresh and (answer := from_record(call, late_calls.marked(call, known))) is not None:
            return answer[0]
        try:
            result = await (attempts.make() if known.fresh else attempts.resume(effect_in_doubt(call)))
        except EffectInDoubt as error:
            if attempts.left_running is None:  # else it is in doubt when it ends
                await stores.ledger.settle(call, "in_doubt", now(), error=recorded_doubt(error))
            raise
        except CallAsks as asks:  # begun anew once it is answered
            await stores.ledger.settle(call, "failed", now(), error=asks.cause, code=asks.code)
            raise
        except (CapabilityRejected, CapabilityUnavailable) as error:
            unanswered = isinstance(error, BrokeOff | CapabilityUnavailable)
            code = CapabilityUnavailable.code if unanswered else error.code
            await stores.ledger.settle(call, "failed", now(), error=error.cause, code=code)
            raise
        finally:
            if attempts.left_running is not None:
                late_calls.watch(call, attempts.left_running, now)
        await stores.ledger.settle(call, "done", now(), result, attempts.remark)
    return result


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
    named = f" (it was sent as key {call.sent_key[:16]})" if call.sent_key != call.key else ""
    cause = f"{nobody_knows(call.capability)}the process ended in the middle of it"
    return EffectInDoubt(cause, f"{FIND_OUT}{named}")
