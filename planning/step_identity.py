"""The name of a step: the same while its plan leaves it unchanged, another where it failed before."""

from __future__ import annotations

from collections.abc import Mapping

from planwright.domain.hashing import sha256
from planwright.domain.plan import PlanStep
from planwright.domain.results import StepResult
from planwright.domain.verified_step import VerifiedStep

MOST_ATTEMPTS = 100


def step_uid(run_id: str, step: PlanStep, needs: tuple[str, ...], results: Mapping[str, StepResult]) -> str:
    """Name a step of a run for good, by what it does and needs; anew where that has failed before.

    What a person said no to keeps its name, and so its result: it is not asked about again.
    """
    for again in range(MOST_ATTEMPTS):
        uid = uid_of(run_id, step, needs, again)
        if uid not in results or results[uid].status in ("completed", "rejected"):
            return uid
    raise AssertionError("a step cannot fail a hundred times within its budgets")


def earlier_uids(run_id: str, checked: VerifiedStep) -> list[str]:
    """Name the attempts at a step that failed before this one, oldest first; a model's call has none."""
    uids: list[str] = []
    for again in range(MOST_ATTEMPTS):
        uid = uid_of(run_id, checked.step, checked.needs, again)
        if uid == checked.uid:
            return uids
        uids.append(uid)
    return []


def same_work(step: PlanStep, other: PlanStep) -> bool:
    """Say whether two steps do the same, by all that names a step, whatever they wait for, and if what."""
    plain, plain_other = (each.model_copy(update={"when": ""}) for each in (step, other))
    return uid_of("", plain, (), 0) == uid_of("", plain_other, (), 0)


def uid_of(run_id: str, step: PlanStep, needs: tuple[str, ...], again: int) -> str:
    """Name one attempt at a step; `again` counts those that failed before it."""
    agent: list[object] = [step.description, list(step.tool_hints)] if step.agentic else []
    agent += [step.returns] if step.agentic and step.returns else []
    hint = [step.routed_by.model_dump(mode="json")] if step.routed_by else []
    agent += [{"when": step.when}] if step.when else []
    content = [run_id, step.id, step.capability, step.params, list(needs), again, *agent, *hint]
    return "step_" + sha256(content)[:16]
