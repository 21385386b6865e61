"""A planner's reply as it is read: a plan, questions, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from planwright.checkpoints.serde import storable
from planwright.domain.errors import PlanInvalid
from planwright.domain.plan import Plan
from planwright.models.json_reply import read_value
from planwright.models.replies.plan_reading import read_plan


@dataclass(frozen=True)
class PlanProposal:
    """What the model answered: a plan, questions, or the reason why there is none."""

    plan: Plan | None = None
    """The plan; None where the model made none."""
    cannot: str = ""
    """Why there is no plan, in words without a full stop; "" where there is one."""
    instead: tuple[str, ...] = ()
    """Requests of a kind that is understood, where there is no plan."""
    repaired: bool = False
    """Whether it was written otherwise than a plan is spelled."""
    read_as: tuple[str, ...] = ()
    """What of the plan was read as something else, a sentence each."""


def proposal_of(text: str) -> PlanProposal:
    """Read a planner's reply. Raises ModelOutputInvalid or PlanInvalid, saying what is wrong."""
    value, repaired = read_value(text)
    fields = value if isinstance(value, dict) else {}
    if fields.get("cannot") and not fields.get("steps"):
        instead = fields.get("instead")
        requests = tuple(map(str, instead[:3])) if isinstance(instead, list) else ()
        return PlanProposal(
            cannot=reason_text(fields["cannot"]).rstrip(" ."), instead=requests, repaired=repaired
        )
    if fields.get("cannot"):
        value = {**fields, "cannot": reason_text(fields["cannot"])}
    elif fields.get("clarify"):
        value = _asking(fields["clarify"])
    try:
        plan, read_as = read_plan(value)
        storable(plan.model_dump(mode="json"))
    except (TypeError, RecursionError) as error:
        raise PlanInvalid(
            f"the plan holds what cannot be stored: {error}", "use plain text and numbers"
        ) from error
    return PlanProposal(plan, repaired=repaired or bool(read_as), read_as=read_as)


def reason_text(value: object) -> str:
    """Spell what a model says that it cannot do: a sentence, or several."""
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def _asking(clarify: object) -> dict[str, object]:
    """Make the plan that asks what is meant."""
    questions = clarify if isinstance(clarify, list) else [clarify]
    params = {"questions": [str(question) for question in questions[:4]]}
    asking = {"id": "s1", "capability": "clarify", "params": params, "estimated_risk": "None"}
    return {"goal": "Ask what is meant", "steps": [asking]}
