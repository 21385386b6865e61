"""escalation_gate: what the critic cannot settle is put before a person, with plan, results and verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig

from planwright.checkpoints.gates import Gates, gate_id
from planwright.graph.canonical import sha256
from planwright.graph.invocation import invocation_of
from planwright.graph.plan import CheckedStep
from planwright.graph.results import StepResult, Verdict
from planwright.graph.risk import highest_risk
from planwright.graph.settings import Settings
from planwright.graph.state import AgentState, Attempts
from planwright.nodes.node import Node, Update
from planwright.nodes.plan_gate import open_gate

GRAVE = frozenset(("delegated", "destructive"))
SETTLED = frozenset(("forbidden", "budget_exceeded", "timeout", "cancelled"))


def escalation_gate(gates: Gates, settings: Settings) -> Node[AgentState]:
    """Open the gate of a run whose grave steps failed, or where nobody knows whether they happened."""

    async def escalation_gate(state: AgentState, config: RunnableConfig) -> Update:
        invocation, plan, verdict = invocation_of(config), state["plan"], state["verdict"]
        assert plan is not None
        assert verdict is not None
        attempts = state.get("attempts", Attempts())
        left = 0 if state["route"].embedded else attempts.replans_left(settings.planning.replan_budget)
        shown = escalation_card(plan.goal, state["checked"], state["results"], verdict, max(left, 0))
        id_ = gate_id(invocation.run_id, "escalation", f"{plan.plan_hash}:{attempts.escalations}")
        gate = open_gate(invocation, settings, id_, sha256(shown), shown, kind="escalation")
        await gates.open(gate, invocation.lease)
        data = {"gate_id": id_, "kind": "escalation", "step_id": shown["step_id"]}
        expires = gate.expires_at.isoformat()
        invocation.emit(
            "approval_requested", {**data, "plan_hash": plan.plan_hash, "expires_at": expires}, id_
        )
        return {"gate_id": id_}

    return escalation_gate


def unsettled(
    checked: list[CheckedStep], results: Mapping[str, StepResult]
) -> list[tuple[CheckedStep, StepResult]]:
    """List the failed steps that a person has to look at: in doubt, destructive or delegated."""
    pairs = [(entry, results[entry.uid]) for entry in checked if entry.uid in results]
    failed = [(e, r) for e, r in pairs if r.status == "failed" and r.code not in SETTLED]
    return [(e, r) for e, r in failed if r.code == "in_doubt" or e.mode in GRAVE]


def escalation_card(
    goal: str,
    checked: list[CheckedStep],
    results: Mapping[str, StepResult],
    verdict: Verdict,
    replans_left: int,
) -> dict[str, Any]:
    """Show what failed, what became of every step, and what each answer would do."""
    open_ = unsettled(checked, results)
    doubtful = [entry.step.id for entry, result in open_ if result.code == "in_doubt"]
    failed = {entry.step.id: f"{result.code}: {result.error}" for entry, result in open_}
    steps = [
        {
            "id": entry.step.id,
            "capability": entry.step.shown_name,
            "params": entry.step.params,
            "risk": entry.risk,
            "mode": entry.mode,
            "status": results[entry.uid].status if entry.uid in results else "open",
        }
        for entry in checked
    ]
    words = "say that it happened, and with what result" if doubtful else "say what to plan instead"
    return {
        "goal": goal,
        "capability": "escalation",
        "step_id": ", ".join(failed),
        "description": f"{goal}. Approve: run again what failed. Respond: {words}. Reject: leave it and end.",
        "args": failed,
        "steps": steps,
        "in_doubt": doubtful,
        "replans_left": replans_left,
        "reason": verdict.reason,
        "risk": highest_risk(*(entry.risk for entry, _ in open_)),
        "mode": "destructive",
        "effect": "blind" if doubtful else "idempotent",
    }
