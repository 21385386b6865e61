"""What became of the gates of a bulk approval: values alone, which a page shows without LangGraph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from planwright.approvals.pending import PendingGate
from planwright.domain.results import RunStatus

ApprovalEnd = Literal["approved", "counted", "refused"]
"""What became of an approval: the gate is open now, it counts and others are needed, or nothing changed."""


@dataclass(frozen=True)
class GateOutcome:
    """What became of one gate of a bulk approval."""

    gate: PendingGate
    """The gate, as it was listed."""
    end: ApprovalEnd
    """What became of the approval."""
    run_status: RunStatus | None
    """How the run stands afterwards; None where there is no such run."""
    problem: str = ""
    """Why it was not approved, or what its run met afterwards; "" where all went well."""
    did: tuple[str, ...] = ()
    """What its run has done since, an effect each."""
    waits: tuple[str, ...] = ()
    """Gates that its run waits at now, each with what it asks about."""


@dataclass(frozen=True)
class BulkApproval:
    """What became of each gate, and the gates that were left."""

    outcomes: tuple[GateOutcome, ...]
    """What became of each gate that was to be approved, in that order."""
    left: tuple[PendingGate, ...]
    """Gates that call the capability and have to be decided alone, each with its problem."""

    @property
    def approved(self) -> tuple[GateOutcome, ...]:
        """The gates that are approved."""
        return tuple(outcome for outcome in self.outcomes if outcome.end == "approved")
