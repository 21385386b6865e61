"""escalation_gate: what the critic cannot settle is put before a person, with plan, outputs and verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from langchain_core.runnables import RunnableConfig

from planwright.approvals.escalation_card import JudgedPlan, escalation_card
from planwright.approvals.gate import GateQuestion, emit_request, open_gate
from planwright.capabilities.compensation_check import compensation_of
from planwright.capabilities.registry import Registry
from planwright.critic.ruling import GRAVE
from planwright.domain.doubt import UNDECIDED
from planwright.domain.errors import EffectInDoubt
from planwright.domain.hashing import sha256
from planwright.domain.references import NothingFound
from planwright.domain.results import RunVerdict, StepResult
from planwright.domain.verified_step import VerifiedStep
from planwright.records.consent.gate import gate_id
from planwright.records.effects.undos import PastEffect
from planwright.records.stores import Stores
from planwright.settings.settings import Settings
from planwright.state.agent_state import AgentState, AgentUpdate, Attempts, plan_of, verdict_of
from planwright.state.invocation import invocation_of
from planwright.state.node import Node

ENDED = frozenset(("budget_exceeded", "timeout", "cancelled", UNDECIDED))
DECIDED = frozenset(("rejected", "forbidden", *ENDED))


def escalation_gate(stores: Stores, settings: Settings, registry: Registry) -> Node[AgentState, AgentUpdate]:
    """Open the gate of a run that the critic did not accept, and say what could be undone of it."""

    async def escalation_gate(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        invocation, plan, verdict = invocation_of(config), plan_of(state), verdict_of(state)
        attempts = state.get("attempts", Attempts())
        left = 0 if state["route"].embedded else attempts.replans_left(settings.planning.replan_budget)
        doubts = await stores.doubts.not_left(invocation.run_id)
        fork = await stores.forks.of(invocation.run_id)
        effects = [] if fork and fork.undo else await stores.undos.effects_of(invocation.run_id)
        judged = JudgedPlan(plan.goal, state["checked"], state["results"], verdict)
        card = escalation_card(judged, max(left, 0), doubts, undoable(effects, registry))
        subject = f"{plan.plan_hash}:{attempts.escalations}"
        subject += f":r{attempts.retries}" if attempts.retries else ""
        id_ = gate_id(invocation.run_id, "escalation", subject)
        question = GateQuestion(id_, card, sha256(card), kind="escalation")
        gate = await stores.gates.open(open_gate(invocation, settings, question), invocation.lease)
        emit_request(gate, invocation)
        return {"gate_id": id_}

    return escalation_gate


def needs_person(
    checked: Sequence[VerifiedStep],
    results: Mapping[str, StepResult],
    verdict: RunVerdict,
    *,
    acted: bool,
    can_plan: bool,
) -> bool:
    """Say whether a person has anything to decide over a run that the critic did not accept.

    They have not where a limit, a cancel or their own word has ended it; where a rule said no and nothing was
    done (`acted`); and where steps only failed, or found nothing, and nothing was done, by a fixed plan or
    without a model (`can_plan`): there the reason is all there is.
    """
    pairs = [(entry, results[entry.uid]) for entry in checked if entry.uid in results]
    failed = [(entry, result) for entry, result in pairs if result.status == "failed"]
    if verdict.verdict != "escalate" or any(result.code in ENDED for _, result in pairs):
        return any(result.code == EffectInDoubt.code for _, result in failed)
    open_ = [(entry, result) for entry, result in failed if result.code not in DECIDED]
    grave = any(result.code == EffectInDoubt.code or entry.mode in GRAVE for entry, result in open_)
    ended = {result.uid for _, result in pairs if result.status == "completed"}
    unaccepted = any(score.verdict == "escalate" for score in verdict.step_scores if score.uid in ended)
    empty = any(result.code == NothingFound.code for _, result in pairs) and not can_plan
    return grave or acted or (unaccepted and not empty) or bool(open_ and can_plan)


def undoable(effects: Sequence[PastEffect], registry: Registry) -> list[str]:
    """Name the effects of a run that something is declared to undo, and that nobody has undone."""
    declared = [
        effect for effect in effects if not effect.undone and compensation_of(effect, registry) is not None
    ]
    return [
        f"{remedy.capability} ({remedy.step.step.id})" if remedy.step else remedy.capability
        for remedy in declared
    ]
