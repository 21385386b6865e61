"""What a person decides over, as plain data: the card of a plan and the card of one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from planwright.approvals.cards import Card, card_steps
from planwright.domain.doubt import Doubt
from planwright.domain.plan import Plan, PlanStep
from planwright.domain.references import has_reference
from planwright.domain.results import StepResult
from planwright.domain.risk import highest_risk
from planwright.domain.verified_step import PolicyEvidence, VerifiedStep
from planwright.planning.step_gates import NOT_BOUND
from planwright.presentation.condition_text import condition_text
from planwright.presentation.lookalikes import lookalikes
from planwright.state.agent_state import StepTask


@dataclass(frozen=True)
class PlanProgress:
    """A verified plan, and how far it is done."""

    plan: Plan
    """The plan."""
    checked: list[VerifiedStep]
    """Its steps as verified, in dependency order."""
    results: Mapping[str, StepResult]
    """Results of the steps that have ended, by uid."""
    values: Mapping[str, dict[str, JsonValue]] = field(default_factory=dict)
    """Arguments with their references resolved, by the id of their step, as far as they are known."""
    files: Mapping[str, Card] = field(default_factory=dict)
    """Files that steps pass on, as on a card, by the id of their step."""
    request: str = ""
    """What a person asked for, in their words."""
    words: str = ""
    """All that its user wrote on the thread."""
    brought: Mapping[str, str] = field(default_factory=dict)
    """What came of the steps that were read first, on a line each, by the id of the step."""
    idle: tuple[str, ...] = ()
    """Ids of the steps that what was read first leaves nothing for."""


def plan_card(
    progress: PlanProgress,
    changes: Sequence[str],
    *,
    estimate: Mapping[str, JsonValue],
    with_gates: bool = False,
) -> Card:
    """List request, steps in dependency order, arguments, risk, mode, own gates, and what an edit changed.

    The request is what a person asked for, in their words; the goal is what the planner makes of it.
    `with_gates` when approving the plan also opens the gates of its steps, each for once: the card
    names them by uid. Those whose arguments are not known yet are not included. `done` names the steps that
    do not run again, and the run whose record counts.
    """
    plan, checked, results = progress.plan, progress.checked, progress.results
    ids = {entry.uid: entry.step.id for entry in checked}
    done: Card = {entry.step.id: "this run" for entry in checked if entry.kept}
    for entry in checked:
        if (result := results.get(entry.uid)) and result.status == "completed":
            done[entry.step.id] = result.kept_from or "this run"
    return {
        "request": progress.request,
        "goal": plan.goal,
        "plan_id": plan.plan_id,
        "revision": plan.revision,
        "risk": highest_risk(*(entry.risk for entry in checked)),
        "steps": [
            _step(entry, ids, with_gates, progress)
            | progress.files.get(entry.step.id, {})
            | ({"brought": progress.brought[entry.step.id]} if entry.step.id in progress.brought else {})
            for entry in checked
        ],
        **({"cannot": plan.cannot} if plan.cannot else {}),
        "changes": list(changes),
        "estimate": dict(estimate),
        "done": done,
        **_decisions(progress, ids),
    }


def _step(entry: VerifiedStep, ids: Mapping[str, str], with_gates: bool, progress: PlanProgress) -> Card:
    """List one step: what it calls with what, after which steps, and how grave that is."""
    values, words = progress.values.get(entry.step.id), progress.words
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
        **({"shown_later": True} if _shown_later(entry) else {}),
        **({"tainted": True} if entry.tainted and entry.effect != "pure" else {}),
        "pin": entry.pin,
        **tool_facts(entry),
        **({"done_before": entry.done_before, "reason": entry.reason} if entry.done_before else {}),
        **marked({**entry.step.params, **(values or {})}, words),
        **({"gate_included": entry.uid} if with_gates and _known_gate(entry) else {}),
        **({"on_empty": entry.step.on_empty} if entry.step.on_empty else {}),
        **({"when": entry.step.when, "only_if": condition_text(entry.step.when)} if entry.step.when else {}),
        **_hint(entry.step),
        **_chain(entry),
        **_undone_by(entry.step),
        **_gates(entry),
    }


def _follows(entry: VerifiedStep, ids: Mapping[str, str]) -> list[JsonValue]:
    """Show which steps it waits for only because both use something, and what that is."""
    return [{"after": ids[edge.uid], "both_use": edge.resource} for edge in entry.follows]


def order_added(card: Mapping[str, JsonValue]) -> list[Card]:
    """List the waits on a card that no dependency asks for: which step, after which, over what."""
    return [{"step_id": step["id"], **edge} for step in card_steps(card) for edge in _edges(step)]


def _edges(step: Card) -> list[Card]:
    edges = step.get("follows")
    return [edge for edge in edges if isinstance(edge, dict)] if isinstance(edges, list) else []


def _shown_later(entry: VerifiedStep) -> bool:
    return entry.gated and entry.policy is not None and entry.policy.undecided and not entry.done_before


def _known_gate(entry: VerifiedStep) -> bool:
    return entry.gated and (bool(entry.known) or not has_reference(entry.step.params))


def _chain(entry: VerifiedStep) -> Card:
    """Show what a chain is: its definition by hash, and its calls as they are defined."""
    if entry.chain is None:
        return {}
    calls: list[JsonValue] = [
        {"id": call.id, "capability": call.capability, "arguments": call.arguments}
        for call in entry.chain.calls
    ]
    return {"chain": {"definition": entry.chain.hash, "calls": calls}}


def _hint(step: PlanStep) -> Card:
    """Show what a step asks of its model, where it asks one."""
    return {"model_hint": step.routed_by.model_dump(mode="json")} if step.routed_by else {}


def _undone_by(step: PlanStep) -> Card:
    """Show the call that the plan declares to undo a step, where it declares one."""
    return {"compensation": step.compensation.model_dump(mode="json")} if step.compensation else {}


def _gates(entry: VerifiedStep) -> Card:
    """Show the gates that a step has to pass, who opens them, and the decisions that come before it."""
    gates: list[JsonValue] = [gate.model_dump(mode="json", exclude_defaults=True) for gate in entry.gates]
    named: Card = {"requires": list(entry.step.requires)} if entry.step.requires else {}
    decisions: Card = {"decisions": list(entry.decisions)} if entry.decisions else {}
    if entry.bound:
        decisions["versions"] = {bound.decision_id: bound.version for bound in entry.bound}
    return {**named, **({"gates": gates} if gates else {}), **decisions}


def _before(checked: VerifiedStep) -> Card:
    """Show the decisions that come before a step."""
    versions = {bound.decision_id: f"version {bound.version}" for bound in checked.bound}
    names: list[JsonValue] = [f"{name} ({versions.get(name, NOT_BOUND)})" for name in checked.decisions]
    return {"decisions": names} if names else {}


def _decisions(progress: PlanProgress, ids: Mapping[str, str]) -> Card:
    """Show the decisions that steps wait for, and which steps bring their evidence."""
    if not progress.plan.decision_checkpoints:
        return {}
    checkpoints: list[JsonValue] = [
        checkpoint.model_dump(mode="json") for checkpoint in progress.plan.decision_checkpoints
    ]
    bound = {decision.decision_id: decision for entry in progress.checked for decision in entry.bound}
    evidence: Card = {
        f"{id_} {decision.version}": {name: ids[uid] for name, uid in decision.sources.items()}
        for id_, decision in bound.items()
    }
    return {"decision_checkpoints": checkpoints, "decisions": evidence or NOT_BOUND}


def _tools(step: PlanStep) -> Card:
    """Show the tools of a step that a model does among its arguments."""
    return {"tools": list(step.tool_hints)} if step.agentic else {}


def step_card(
    task: StepTask, args: dict[str, JsonValue], policy: PolicyEvidence, why: str, words: str
) -> Card:
    """List one call with its resolved arguments, its risk, why it asks, and by which rule of the policy.

    `words` are those of the user.
    """
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
        **tool_facts(checked),
        **({"done_before": checked.done_before} if checked.done_before else {}),
        **marked(args, words),
        **_before(checked),
    }


def tool_facts(checked: VerifiedStep) -> Card:
    """Show that the tool of a call says nothing of what it may do, or that it asks once a run."""
    unknown: Card = {"undeclared": True} if checked.undeclared else {}
    return {**unknown, **({"asks_once": True} if checked.asks_once else {})}


def doubt_list(doubts: Sequence[Doubt], steps: Sequence[str]) -> Card:
    """List the steps in doubt and, one by one, the effects."""
    effects: list[JsonValue] = [doubt.model_dump(mode="json") for doubt in doubts]
    card: Card = {"in_doubt": [*steps]}
    return {**card, **({"effects": effects} if effects else {})}


def marked(args: dict[str, JsonValue], words: str) -> Card:
    """Mark letters that look like others, and are none of the user's, whose `words` show which are."""
    marks: list[JsonValue] = [*lookalikes(args, words)]
    return {"marks": marks} if marks else {}
