"""How a run stands after some of its events: the one function behind live page, finished run and scrubber."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from planwright.presentation.rows import Card, RunEvent
from planwright.presentation.run_view import RunLine, RunView, fold


@dataclass(frozen=True)
class GateState:
    """A gate as the events tell of it."""

    gate_id: str
    """Id of the gate."""
    kind: str
    """What it asks about."""
    step_id: str
    """Step that it asks about; "" for a plan or a run."""
    expires_at: str
    """When it closes by itself, in ISO 8601."""
    decision: str = ""
    """How it was decided; "" while it is open."""
    by: str = ""
    """Who decided; "" while it is open."""
    reason: str = ""
    """Words of the decision."""
    approvals: tuple[str, ...] = ()
    """Who has approved so far, where several people have to."""


@dataclass(frozen=True)
class RunState:
    """All that the events of a run tell, up to one of them."""

    view: RunView = field(default_factory=RunView)
    """Its lines, what it does and what it has used."""
    seq: int = 0
    """Number of the newest event."""
    at: str = ""
    """When that was, in ISO 8601."""
    request: str = ""
    """What was asked, as the newest message has it."""
    plan: Card = field(default_factory=dict)
    """Card of the plan that was verified last; empty before there is one."""
    gates: Mapping[str, GateState] = field(default_factory=dict)
    """Gates by id, in the order they opened."""
    verdicts: tuple[Card, ...] = ()
    """What the critic ruled, oldest first."""
    findings: tuple[str, ...] = ()
    """Why the newest plan may not run; empty where it may."""
    answer: str = ""
    """Words that the run ended with; "" while it has none."""
    answer_value: JsonValue = None
    """The typed answer; None where there is none."""
    status: str = ""
    """How it ended; "" while it has not."""
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What the critic noticed of steps, by their ids."""

    @property
    def open_gates(self) -> list[GateState]:
        """The gates that wait for somebody."""
        return [gate for gate in self.gates.values() if not gate.decision]

    def line(self, step_id: str) -> RunLine | None:
        """Find the line of a step."""
        return next((line for line in self.view.lines if line.id == step_id), None)


def run_state(
    events: Iterable[RunEvent], upto: int | None = None, before: RunState | None = None
) -> RunState:
    """Tell how a run stands after its events, up to the one with the number `upto` or to the last.

    `before` is how it stood before the first of them. Pure: the same events give the same state.
    """
    state = before or RunState()
    for event in events:
        if upto is not None and event["seq"] > upto:
            break
        state = _after(state, event)
    return state


def _after(state: RunState, event: RunEvent) -> RunState:
    kind, data = event["type"], event["data"]
    state = replace(state, view=fold(state.view, event), seq=event["seq"], at=event["ts"])
    match kind:
        case "user_message":
            return replace(state, request=str(data["content"]))
        case "plan_verified":
            findings = tuple(map(_finding, data.get("findings", ())))
            plan = data["plan"] if data.get("plan") else state.plan
            return replace(state, plan=plan, findings=() if data["outcome"] == "ok" else findings)
        case "approval_requested":
            gate = GateState(data["gate_id"], data["kind"], str(data.get("step_id", "")), data["expires_at"])
            return replace(state, gates={**state.gates, gate.gate_id: gate})
        case "approval_given" | "approval_resolved" | "plan_edited":
            return replace(state, gates=_decided(state.gates, kind, data))
        case "verdict":
            return replace(state, verdicts=(*state.verdicts, data))
        case "step_scored":
            notes = {**state.notes, str(data["step_id"]): tuple(data["findings"])}
            return replace(state, notes=notes)
        case "agent_message":
            return replace(state, answer=str(data["content"]))
        case "answer_value":
            return replace(state, answer_value=data["value"])
        case "run_end":
            closed = {
                id_: replace(gate, decision=gate.decision or "closed") for id_, gate in state.gates.items()
            }
            return replace(state, status=str(data["status"]), gates=closed)
    return state


def _finding(finding: object) -> str:
    return str(finding.get("message", finding)) if isinstance(finding, Mapping) else str(finding)


def _decided(gates: Mapping[str, GateState], kind: str, data: Card) -> Mapping[str, GateState]:
    id_ = str(data.get("gate_id", ""))
    gate = gates.get(id_)
    if gate is None:
        return gates
    by = str(data.get("by", ""))
    if kind == "approval_given":
        return {**gates, id_: replace(gate, approvals=(*gate.approvals, by))}
    decision = "edited" if kind == "plan_edited" else str(data.get("decision", ""))
    return {**gates, id_: replace(gate, decision=decision, by=by, reason=str(data.get("reason") or ""))}
