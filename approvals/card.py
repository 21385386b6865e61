"""What a person decides over, as plain data: the card of a plan and the card of one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from planwright.approvals.lookalikes import lookalikes
from planwright.domain.doubt import Doubt
from planwright.domain.plan import CheckedStep, Plan, PlanStep, PolicyEvidence
from planwright.domain.references import has_reference
from planwright.domain.results import StepResult
from planwright.domain.risk import highest_risk
from planwright.planning.step_gates import NOT_BOUND
from planwright.state.agent_state import StepTask


def plan_card(
    plan: Plan,
    checked: list[CheckedStep],
    changes: Sequence[str],
    results: Mapping[str, StepResult],
    *,
    estimate: Mapping[str, Any],
    with_gates: bool = False,
    values: Mapping[str, dict[str, JsonValue]] | None = None,
) -> dict[str, Any]:
    """List goal, steps in dependency order, arguments, risk, mode, own gates, and what an edit changed.

    `with_gates` when approving the plan also opens the gates of its steps, each for once: the card
    names them by uid. Those whose arguments are not known yet are not included. `values` are arguments with
    their references resolved, by step. `done` names the steps that do not run again, and the run whose record
    counts.
    """
    ids, known = {entry.uid: entry.step.id for entry in checked}, values or {}
    done = [(entry, results[entry.uid]) for entry in checked if entry.uid in results]
    return {
        "goal": plan.goal,
        "plan_id": plan.plan_id,
        "revision": plan.revision,
        "risk": highest_risk(*(entry.risk for entry in checked)),
        "steps": [_step(entry, ids, with_gates, known.get(entry.step.id)) for entry in checked],
        "changes": list(changes),
        "estimate": dict(estimate),
        "done": {entry.step.id: "this run" for entry in checked if entry.kept}
        | {
            entry.step.id: result.kept_from or "this run"
            for entry, result in done
            if result.status == "completed"
        },
        **_decisions(plan),
    }


def _step(
    entry: CheckedStep, ids: Mapping[str, str], with_gates: bool, values: dict[str, JsonValue] | None
) -> dict[str, Any]:
    """List one step: what it calls with what, after which steps, and how grave that is."""
    return {
        "id": entry.step.id,
        "capability": entry.step.shown_name,
        "description": entry.step.description,
        "params": {**entry.step.params, **_tools(entry.step)},
        **({"values": values} if values else {}),
        "after": [ids[uid] for uid in entry.needs],
        **({"follows": follows} if (follows := _follows(entry, ids)) else {}),
        "risk": entry.risk,
        "mode": entry.mode,
        "effect": entry.effect,
        "own_gate": entry.gated,
        **({"tainted": True} if entry.tainted and entry.effect != "pure" else {}),
        "pin": entry.pin,
        **({"done_before": entry.done_before} if entry.done_before else {}),
        **marked(values or entry.step.params),
        **({"gate_included": entry.uid} if with_gates and _known_gate(entry) else {}),
        **_hint(entry.step),
        **_chain(entry),
        **_undone_by(entry.step),
        **_gates(entry),
    }


def _follows(entry: CheckedStep, ids: Mapping[str, str]) -> list[dict[str, str]]:
    """Show which steps it waits for only because both use something, and what that is."""
    return [{"after": ids[edge.uid], "both_use": edge.resource} for edge in entry.follows]


def order_added(card: Mapping[str, Any]) -> list[dict[str, str]]:
    """List the waits on a card that no dependency asks for: which step, after which, over what."""
    steps = card["steps"]
    return [{"step_id": step["id"], **edge} for step in steps for edge in step.get("follows", ())]


def _known_gate(entry: CheckedStep) -> bool:
    return entry.gated and not has_reference(entry.step.params)


def _chain(entry: CheckedStep) -> dict[str, Any]:
    """Show what a chain is: its definition by hash, and its calls as they are defined."""
    if entry.chain is None:
        return {}
    calls = [
        {"id": call.id, "capability": call.capability, "arguments": call.arguments}
        for call in entry.chain.calls
    ]
    return {"chain": {"definition": entry.chain.hash, "calls": calls}}


def _hint(step: PlanStep) -> dict[str, Any]:
    """Show what a step asks of its model, where it asks one."""
    return {"model_hint": step.routed_by.model_dump(mode="json")} if step.routed_by else {}


def _undone_by(step: PlanStep) -> dict[str, Any]:
    """Show the call that the plan declares to undo a step, where it declares one."""
    return {"compensation": step.compensation.model_dump(mode="json")} if step.compensation else {}


def _gates(entry: CheckedStep) -> dict[str, Any]:
    """Show the gates that a step has to pass, who opens them, and the decisions that come before it."""
    gates = [gate.model_dump(mode="json", exclude_defaults=True) for gate in entry.gates]
    named = {"requires": list(entry.step.requires)} if entry.step.requires else {}
    decisions = {"decisions": list(entry.decisions)} if entry.decisions else {}
    return {**named, **({"gates": gates} if gates else {}), **decisions}


def _before(checked: CheckedStep) -> dict[str, Any]:
    """Show the decisions that come before a step."""
    return {"decisions": [f"{name} ({NOT_BOUND})" for name in checked.decisions]} if checked.decisions else {}


def _decisions(plan: Plan) -> dict[str, Any]:
    """Show the decisions that steps wait for, and that nobody can take them yet."""
    if not plan.decision_checkpoints:
        return {}
    checkpoints = [checkpoint.model_dump(mode="json") for checkpoint in plan.decision_checkpoints]
    return {"decision_checkpoints": checkpoints, "decisions": NOT_BOUND}


def _tools(step: PlanStep) -> dict[str, Any]:
    """Show the tools of a step that a model does among its arguments."""
    return {"tools": list(step.tool_hints)} if step.agentic else {}


def step_card(task: StepTask, args: dict[str, JsonValue], policy: PolicyEvidence, why: str) -> dict[str, Any]:
    """List one call with its resolved arguments, its risk, why it asks, and by which rule of the policy."""
    checked = task["checked"]
    return {
        "capability": checked.step.shown_name,
        "step_id": checked.step.id,
        "description": checked.step.description,
        "args": args,
        "risk": checked.risk,
        "mode": checked.mode,
        "effect": checked.effect,
        "reason": why,
        "plan_hash": task["plan_hash"],
        "policy": policy.model_dump(mode="json"),
        "pin": checked.pin,
        **({"done_before": checked.done_before} if checked.done_before else {}),
        **marked(args),
        **_before(checked),
    }


def doubt_list(doubts: Sequence[Doubt], steps: Sequence[str]) -> dict[str, Any]:
    """List the steps in doubt and, one by one, the effects."""
    effects = [doubt.model_dump(mode="json") for doubt in doubts]
    return {"in_doubt": list(steps), **({"effects": effects} if effects else {})}


def marked(args: dict[str, JsonValue]) -> dict[str, Any]:
    """Mark letters that look like others, where arguments hold any."""
    return {"marks": marks} if (marks := lookalikes(args)) else {}
