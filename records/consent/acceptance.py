"""Whether a gate takes an answer: a rule over its row, asked before the answer is recorded and again then."""

from __future__ import annotations

from planwright.domain.doubt import EffectAnswer, how_to_decide, recorded_answers
from planwright.domain.errors import GateError
from planwright.records.consent.approval_scope import ApprovalScope, choosable_in, free_in
from planwright.records.consent.approvers import (
    approvers_of,
    check_approver,
    check_person,
    check_requester,
    requester_of,
)
from planwright.records.consent.call_question import check_fits
from planwright.records.consent.gate import Decision, Gate


def acceptable(gate: Gate, decision: Decision) -> None:
    """Raise GateError unless a gate that was just read takes this answer."""
    if gate.status == "expired":
        raise GateError(
            f"gate {gate.gate_id} expired at {gate.expires_at:%Y-%m-%d %H:%M:%S} UTC; nothing was run",
            f"close the run with: planwright resume {gate.thread_id}",
        )
    if gate.status != "open":
        raise GateError(
            f"gate {gate.gate_id} was already {gate.status} by {gate.decided_by}",
            f"see what became of it: planwright show {gate.run_id}",
        )
    if decision.answer not in gate.allowed:
        why = _WHY_NOT["fixed" if gate.card.get("fixed") and decision.answer == "edit" else gate.kind]
        takes = f"it takes: {', '.join(gate.allowed)}"
        if decision.answer == "respond" and "edit" in gate.allowed:
            takes = f"use edit: planwright edit {gate.gate_id} · {takes}"
        if decision.answer == "approve" and gate.kind == "escalation":
            why = "policy or safety failed, and that is never accepted"
        if gate.doubts:
            why, takes = f"{len(gate.doubts)} effects are in doubt, one by one", how_to_decide(gate.gate_id)
        raise GateError(f"gate {gate.gate_id} does not take `{decision.answer}`: {why}", takes)
    decided_effects(gate, decision)
    if decision.answer == "respond":
        check_fits(gate.card, decision.reason)
    check_calls(gate, decision)
    if decision.shown_hash is not None and decision.shown_hash != gate.answer_hash:
        raise GateError(
            f"the answer names plan_hash {decision.shown_hash[:12]}, the gate shows {gate.answer_hash[:12]}",
            f"look at what is asked now: planwright show {gate.thread_id}",
        )
    if decision.answer == "approve":
        check_approver(gate.gate_id, approvers_of(gate.card), decision.decided_by, decision.channel)
        check_requester(gate.gate_id, requester_of(gate.card), decision.decided_by, decision.channel)
        check_person(gate.gate_id, gate.approvals, decision.decided_by, decision.channel, gate.quorum)
    if decision.remember is not None:
        check_rememberable(gate, decision.remember)


def check_calls(gate: Gate, decision: Decision) -> None:
    """Raise GateError unless a decision over single calls has one that the gate takes for each of them."""
    if gate.kind == "step" and decision.answer == "edit":
        raise GateError(f"gate {gate.gate_id} asks about calls, not about a plan", "send their arguments")
    if not decision.by_call:
        return
    if not gate.decides_call_by_call or gate.kind != "step":
        raise GateError(
            f"gate {gate.gate_id} is decided as a whole", "approve or reject it, with words that say which"
        )
    if len(decision.by_call) != len(gate.calls):
        raise wrong_number(gate, len(decision.by_call))
    if any((over.answer == "edit") != (over.args is not None) for over in decision.by_call):
        raise GateError("an edit of a call, and only an edit, brings its arguments", "send all of them")


def wrong_number(gate: Gate, decisions: int) -> GateError:
    """Refuse an answer that does not have a decision for each call of a gate."""
    calls = f"{len(gate.calls)} call{'s' * (len(gate.calls) != 1)}"
    return GateError(
        f"gate {gate.gate_id} asks about {calls}, and the answer has {decisions} decisions",
        'send one for each, in their order, or {"type": "approve"} for all of them',
    )


def check_rememberable(gate: Gate, remember: ApprovalScope) -> None:
    """Raise GateError unless an approval of this gate may hold that widely."""
    if unasked := remember.tools.keys() - gate.undeclared.keys():
        which = ", ".join(gate.undeclared) or "none: each says it itself, or somebody has"
        cause = f"gate {gate.gate_id} does not ask what {min(unasked)} may do"
        raise GateError(cause, f"it asks that of: {which}")
    if remember.unseen and not gate.shown_later:
        cause = f"gate {gate.gate_id} shows all that goes out"
        raise GateError(cause, "approve it without `unseen`")
    if remember.scope is None:
        return
    if not gate.may_be_remembered:
        why = "such a call is asked for every time" if gate.kind == "step" else "it is no call"
        raise GateError(f"gate {gate.gate_id} cannot be remembered: {why}", "approve it without `remember`")
    args = gate.card.get("args") if len(gate.calls) == 1 else None
    unknown = remember.args.keys() - (args.keys() if isinstance(args, dict) else ())
    if unknown:
        raise GateError(
            f"`remember` names arguments the call does not have: {', '.join(sorted(unknown))}",
            f"look at the call: planwright show {gate.thread_id}",
        )
    free = {*free_in(gate.card), *choosable_in(gate.card)}
    open_ = [name for name, rule in remember.args.items() if not (rule.exact or rule.bounded)]
    if wider := [name for name in open_ if name not in free]:
        raise GateError(
            f"`remember` is wider than the card shows: {', '.join(wider)} may not differ there",
            "remember it with these arguments, in a folder, at an origin, or write a rule into policy.toml",
        )
    if unfit := [
        name for name, rule in remember.args.items() if isinstance(args, dict) and not rule.fits(args[name])
    ]:
        raise GateError(
            f"`remember` does not hold for this call itself: {', '.join(unfit)}",
            f"look at the call: planwright show {gate.thread_id}",
        )


def decided_effects(gate: Gate, decision: Decision) -> tuple[EffectAnswer, ...]:
    """Read what an answer says of each effect in doubt. Raises GateError where it leaves one out."""
    answers = (decision.answer, decision.reason, decision.effects)
    return recorded_answers(gate.doubts, *answers, how_to_decide(gate.gate_id))


_WHY_NOT = {
    "plan": "no re-plan is left, or none can be made: feedback needs a model",
    "fixed": "what undoes a run is not edited; reject it, and ask for what you want in its place",
    "step": "it asks about one call, not about a plan",
    "info": "it asks a question: answer it in words",
    "escalation": "no re-plan is left, or none can be made: feedback needs a model",
    "limit": "it asks for more of a limit: say yes, how much, or no",
}
