"""The results of steps that brought nothing."""

from __future__ import annotations

from planwright.domain.errors import CallRefused, CapabilityError
from planwright.domain.references import NothingFound
from planwright.domain.results import StepResult, StepStatus
from planwright.domain.verified_step import VerifiedStep

CANCELLED = "cancelled"


def bare_result(
    checked: VerifiedStep, status: StepStatus, *, code: str, error: str, missing: tuple[str, ...] = ()
) -> StepResult:
    """Make the result of a step that brought nothing."""
    return StepResult(
        uid=checked.uid,
        step_id=checked.step.id,
        capability=checked.step.shown_name,
        status=status,
        code=code,
        error=error,
        missing=missing,
    )


def failed(checked: VerifiedStep, error: CapabilityError) -> StepResult:
    """Make the result of a step whose call was not made or brought nothing.

    A person's no is no failure, and neither is a search that found nothing.
    """
    skipped: StepStatus = "skipped" if isinstance(error, NothingFound) else "failed"
    status: StepStatus = "rejected" if isinstance(error, CallRefused) else skipped
    return bare_result(checked, status, code=error.code, error=error.cause)
