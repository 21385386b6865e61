"""What became of the gates of a bulk approval."""

from __future__ import annotations

from planwright.approvals.bulk_outcomes import ApprovalEnd, BulkApproval, GateOutcome
from planwright.approvals.pending import PendingGate


def test_a_gate_that_waits_for_others_or_was_refused_is_not_approved() -> None:
    gate = PendingGate("gate", "thread", "run", "default", "High", (), "hash", None)
    ends: tuple[ApprovalEnd, ...] = ("approved", "counted", "refused")
    outcomes = tuple(GateOutcome(gate, end, None) for end in ends)
    assert BulkApproval(outcomes, left=()).approved == outcomes[:1]
