"""escalation_gate: what the critic cannot settle is put before a person, with plan, results and verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig

from planwright.checkpoints.gates import gate_id
from planwright.checkpoints.stores import Stores
from planwright.graph.canonical import sha256
from planwright.graph.doubt import UNDECIDED, Doubt
from planwright.graph.invocation import invocation_of
from planwright.graph.plan import CheckedStep
from planwright.graph.results import StepResult, Verdict
from planwright.graph.risk import highest_risk
from planwright.graph.settings import Settings
from planwright.graph.state import AgentState, Attempts
from planwright.nodes.card import doubt_list
from planwright.nodes.node import Node, Update
from planwright.nodes.plan_gate import open_gate

GRAVE = frozenset(("delegated", "destructive"))
SETTLED = frozenset(("forbidden", "budget_exceeded", "timeout", "cancelled", UNDECIDED))


def escalation_gate(stores: Stores, settings: Settings) -> Node[AgentState]:
    """Open the gate of a run whose grave steps failed, or where nobody knows whether they happened."""

    async def escalation_gate(state: AgentState, config: RunnableConfig) -> Update:
        invocation, plan, verdict = invocation_of(config), state["plan"], state["verdict"]
        assert plan is not None
        assert verdict is not None
        attempts = state.get("attempts", Attempts())
        left = 0 if state["route"].embedded else attempts.replans_left(settings.planning.replan_budget)
        doubts = await stores.doubts.not_left(invocation.run_id)
        shown = escalation_card(plan.goal, state["checked"], state["results"], verdict, max(left, 0), doubts)
        id_ = gate_id(invocation.run_id, "escalation", f"{plan.plan_hash}:{attempts.escalations}")
        gate = open_gate(invocation, settings, id_, sha256(shown), shown, kind="escalation")
        await stores.gates.open(gate, invocation.lease)
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
    doubts: Sequence[Doubt] = (),
) -> dict[str, Any]:
    """Show what failed, every effect in doubt, what became of every step, and what each answer would do."""
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
    answers = "Approve: run again what failed. Respond: say what to plan instead."
    if doubts:
        answers = "Respond: say that it happened, and with what result, or that it did not."
        answers = f"Approve: it did not happen, run it again. {answers}"
    if len(doubts) > 1:
        answers = "Respond: say of each effect in doubt whether it happened."
    return {
        "goal": goal,
        "capability": "escalation",
        "step_id": ", ".join(failed),
        "description": f"{goal}. {answers} Reject: leave it and end.",
        "args": failed,
        "steps": steps,
        **doubt_list(doubts, doubtful or [doubt.step_id for doubt in doubts]),
        "replans_left": replans_left,
        "reason": verdict.reason,
        "risk": highest_risk(*(entry.risk for entry, _ in open_)),
        "mode": "destructive",
        "effect": "blind" if doubts else "idempotent",
    }
