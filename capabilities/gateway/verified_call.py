"""One call as it is verified, wherever it comes from: a reply, a chain, an alternative, a rule of memory."""

from __future__ import annotations

from dataclasses import dataclass

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.gateway.pins import pin_now
from planwright.capabilities.policy.consent import Judgement
from planwright.capabilities.policy.decide import evidence
from planwright.capabilities.registry import Registry
from planwright.domain.plan import PlanStep
from planwright.domain.verified_step import VerifiedStep


@dataclass(frozen=True)
class NamedCall:
    """A call with its name for good."""

    step: PlanStep
    """What is called, with which arguments."""
    uid: str
    """Id within its run; the same for the same call after a crash."""
    needs: tuple[str, ...] = ()
    """Uids of what it needs."""


def verified_call(
    call: NamedCall,
    capability: Capability,
    judged: Judgement | None,
    registry: Registry,
    context: CallContext,
) -> VerifiedStep:
    """Put together what verification found out about a call, pinned to what it calls and to the policy.

    `capability` is narrowed to the arguments; `judged` is None for a part of a chain, which is judged
    once its arguments are known. `context` says whether others' words may be in the arguments.
    """
    asks = judged is not None and judged.asks
    checked = VerifiedStep(
        step=call.step,
        uid=call.uid,
        needs=call.needs,
        effect=capability.effect,
        mode=capability.mode,
        risk=capability.risk,
        gated=asks,
        asks=asks,
        reason=judged.reason if judged else "a part of a chain",
        policy=evidence(judged.ruling, context) if judged and asks else None,
        chain=capability.chain,
        undeclared=capability.is_unknown,
        asks_once=capability.may == "asks_once",
        tainted=context.tainted,
    )
    return checked.model_copy(update={"pin": pin_now(checked, registry, context)})
