"""Gates that are approved together: which there are, what a form names, and what became of each. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planwright.approvals.bulk_outcomes import ApprovalEnd
from planwright.approvals.pending import PendingCall, PendingGate, pending_approvals
from planwright.domain.errors import GateError
from planwright.extras.web.view_models.values import ValueRow, real_rows, value_rows
from planwright.records.consent.gate import Decision, Gate


@dataclass(frozen=True)
class GateReference:
    """A gate as a form names it: by its id, and by the hashes of what was looked at."""

    gate_id: str
    """Id of the gate."""
    shown_hash: str
    """Hash that its approval names."""
    card_hash: str
    """SHA-256 of its card; "" where its row has none."""

    @property
    def text(self) -> str:
        """The value of its field."""
        return f"{self.gate_id} {self.shown_hash} {self.card_hash}"


@dataclass(frozen=True)
class ListedGate:
    """One gate as it is listed."""

    gate: PendingGate
    """The gate."""
    calls: Sequence[tuple[PendingCall, Sequence[ValueRow]]]
    """The calls that it asks about, each with its arguments."""
    field: str
    """What the form names it by."""


@dataclass(frozen=True)
class GateResult:
    """What became of one gate that a form names."""

    gate_id: str
    """Id of the gate."""
    run_id: str
    """Run that it belongs to; "" where there is no such gate."""
    end: ApprovalEnd
    """What became of the approval."""
    problem: str = ""
    """Why it was refused; "" where it was not."""


def listed_gate(gate: PendingGate, *, planned: bool) -> ListedGate:
    """Lay a gate out; the arguments of a plan that is `planned` may refer to results of other steps."""
    calls = [
        (
            call,
            value_rows(call.args, None, whole=True) if planned else real_rows(call.args, whole=True),
        )
        for call in gate.calls
    ]
    return ListedGate(gate, calls, GateReference(gate.gate_id, gate.plan_hash, gate.card_hash or "").text)


def named_gates(values: Sequence[str]) -> list[GateReference]:
    """Read the gates that a form names, each once. Raises GateError for none, and for what names none."""
    parts = [value.split(" ") for value in dict.fromkeys(values)]
    if not parts:
        raise GateError("no gate is chosen", "choose those that you approve")
    if any(len(part) != 3 for part in parts):
        raise GateError("the form names no gates", "load the page again")
    return [GateReference(*part) for part in parts]


def check_same(wanted: GateReference, gate: Gate) -> None:
    """Raise GateError where a gate is closed, or shows something else than was looked at."""
    if gate.status != "open":
        by = f" by {gate.decided_by} via {gate.channel}" if gate.decided_by else ""
        raise GateError(f"gate {gate.gate_id} is {gate.status}{by}", "look at its run")
    if (gate.answer_hash, gate.card_hash or "") != (wanted.shown_hash, wanted.card_hash):
        raise GateError(f"gate {gate.gate_id} shows something else than was listed", "look at it alone")


def check_together(gate: Gate, capability: str, decision: Decision) -> None:
    """Raise GateError for a gate that has to be looked at alone, or does not call a capability."""
    pending = pending_approvals([gate], capability, decision)
    if not pending.gates:
        cause = pending.left[0].problem if pending.left else f"it does not call {capability}"
        raise GateError(f"gate {gate.gate_id}: {cause}", "look at it alone")


def capabilities_of(gates: Iterable[Gate], decision: Decision) -> list[str]:
    """Name the capabilities that open gates ask about, by name."""
    pending = pending_approvals(gates, "*", decision)
    calls = (call for gate in (*pending.gates, *pending.left) for call in gate.calls)
    return sorted({call.capability for call in calls if asks(call)})


def asks(call: PendingCall) -> bool:
    """Say whether a call is one that an approval is asked for."""
    return bool(call.capability) and not call.only_reads
