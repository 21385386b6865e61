"""Where a call stands, and how the ledger names it."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue

from planwright.capabilities.contract import Capability
from planwright.domain.lease import Lease
from planwright.domain.risk import Risk
from planwright.domain.verified_step import VerifiedStep
from planwright.records.effects.kept_effects import within_of
from planwright.records.effects.ledger import EffectCall
from planwright.settings.profile import RunProfile
from planwright.state.loop_budget import LoopBudget


@dataclass(frozen=True)
class CallSite:
    """Where a call stands: under which lease, by which profile, in which verified plan, at which step."""

    lease: Lease
    """Right to write for the run that makes the call."""
    plan_hash: str
    """Hash of the plan, or of the calls of a reply, that it stands in."""
    checked: VerifiedStep
    """The call as verified."""
    profile: RunProfile
    """What is in force for the run."""
    words: str = ""
    """What the user wrote on the thread."""
    ask_from: Risk | None = None
    """Lowest risk from which a part of a chain asks, as where it is called; None for other calls."""
    attempt: int = 1
    """Number of the attempt that is named by the idempotency key, counted from 1."""
    lanes: tuple[LoopBudget, ...] = ()
    """Limits of the lanes that it is made in, from the outermost."""
    answers: tuple[JsonValue, ...] = ()
    """What a person has answered to the questions that the call asked, in their order."""


def effect_call(capability: Capability, args: dict[str, JsonValue], site: CallSite) -> EffectCall:
    """Name a call as the ledger does."""
    checked = site.checked
    return EffectCall(
        lease=site.lease,
        step_uid=checked.uid,
        capability=capability.name,
        effect=capability.effect,
        args=args,
        attempt=site.attempt,
        within=within_of(checked.step.id),
        recorded_key=checked.kept,
    )
