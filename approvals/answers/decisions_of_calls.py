"""Decisions over the calls of one gate, one by one, as LangChain's HITLResponse has them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pydantic import JsonValue

from planwright.approvals.answers.edited_action import EditedAction
from planwright.domain.errors import GateError
from planwright.domain.hashing import same
from planwright.records.consent.acceptance import wrong_number
from planwright.records.consent.gate import CallDecision, Decision, Gate


def forms_by_call(answer: object, gate: Gate) -> list[Mapping[str, object]]:
    """List the decision over each call of a gate, with what stands beside them; none where one is for all.

    Raises GateError where the answer has another number of decisions than the gate has calls.
    """
    if gate.kind != "step" or not isinstance(answer, Mapping):
        return []
    decisions = answer.get("decisions")
    if not isinstance(decisions, list) or len(gate.calls) == len(decisions) == 1:
        return []
    if len(decisions) != len(gate.calls):
        raise wrong_number(gate, len(decisions))
    beside = {key: value for key, value in answer.items() if key != "decisions"}
    forms = [form if isinstance(form, Mapping) else {"type": form} for form in decisions]
    return [{**beside, **form} for form in forms]


def all_but(left: Collection[int], calls: int, words: str = "") -> dict[str, object]:
    """Approve the calls of a gate but those that are left out, by their numbers from 1, and say why."""
    no = {"type": "reject", "message": words.strip()}
    return {"decisions": [no if number in left else {"type": "approve"} for number in range(1, calls + 1)]}


def decision_of_calls(decisions: Sequence[tuple[Decision, EditedAction | None]], gate: Gate) -> Decision:
    """Make one decision over a gate of those over its calls, each with the action of its edit, if it is one.

    Raises GateError for another number than the gate has calls, for what is said of all calls and differs,
    and for an edit of another tool.
    """
    if len(decisions) != len(gate.calls):
        raise wrong_number(gate, len(decisions))
    first, _ = decisions[0]
    for name in ("decided_by", "shown_hash", "remember"):
        if any(getattr(decision, name) != getattr(first, name) for decision, _ in decisions):
            raise GateError(f"the decisions of an answer have different `{name}`", "say it once, beside them")
    over = tuple(
        _over(decision, edit, call) for (decision, edit), call in zip(decisions, gate.calls, strict=True)
    )
    if all(each.args is None and each == over[0] for each in over):
        return first.model_copy(update={"answer": over[0].answer})
    answers = [each.answer for each in over]
    if any(each.makes_it for each in over):
        answer = "approve"
    else:
        answer = "respond" if "respond" in answers else "reject"
    if first.remember is not None:
        raise GateError("an approval is remembered for calls as they are shown", "leave `remember` out")
    reason = "; ".join(dict.fromkeys(each.reason for each in over if each.reason))
    return first.model_copy(update={"answer": answer, "reason": reason, "by_call": over})


def _over(decision: Decision, edit: EditedAction | None, call: Mapping[str, JsonValue]) -> CallDecision:
    """Read what is decided over one call. Raises GateError for an edit of another tool than is called."""
    if edit is None:
        return CallDecision(answer=decision.answer, reason=decision.reason)
    if edit.name != call["capability"]:
        raise GateError(
            f"an edit keeps the tool that is called, {call['capability']}",
            f"answer with other arguments of {call['capability']}, or reject it and say what you want",
        )
    if same(edit.args, call["args"]):
        return CallDecision(answer="approve", reason=decision.reason)
    return CallDecision(answer="edit", reason=decision.reason, args=edit.args)
