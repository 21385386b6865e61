"""Every form an answer may come in, bound to the one gate it is meant for.

LangGraph delivers a scalar resume value to whichever gate asks next, and a wrong interrupt id
as the answer itself. So nothing reaches it that is not bound to an open gate first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from planwright.approvals.answers.decisions_of_calls import decision_of_calls, forms_by_call
from planwright.approvals.answers.edited_action import (
    EDIT,
    EditedAction,
    edited_action,
    edited_plan,
    in_ascii,
    with_amount,
)
from planwright.approvals.answers.inbox_answers import from_inbox, gate_of_action, is_shown_action
from planwright.approvals.answers.open_gates import gate_meant, named_in, over_all, without_name
from planwright.approvals.call_questions import as_decision
from planwright.domain.doubt import EffectAnswer
from planwright.domain.errors import GateError
from planwright.domain.hashing import problems_of
from planwright.records.consent.acceptance import acceptable
from planwright.records.consent.approval_scope import ApprovalScope
from planwright.records.consent.gate import Decision, Gate, GateAnswer

_WORDS: dict[str, GateAnswer] = {
    **dict.fromkeys(("approve", "approved", "accept", "yes", "ok", "true"), "approve"),
    **dict.fromkeys(("reject", "rejected", "deny", "no", "false", "ignore"), "reject"),
    **dict.fromkeys(("edit",), "edit"),
    **dict.fromkeys(("respond", "response"), "respond"),
}
_EFFECTS = '{"type": "respond", "effects": [{"key": "ab12…", "happened": true, "result": …}]}'

_KEYS = frozenset(
    ("type", "message", "reason", "args", "edited_action", "plan_hash", "gate_id", "decided_by", "remember")
    + ("effects",)
)


@dataclass(frozen=True)
class Bound:
    """One decision and the gate it decides; `edit` is the plan of an edit, as it was sent."""

    gate: Gate
    """The gate that the decision is about."""
    decision: Decision
    """What was decided, by whom and through which channel."""
    edit: object = None
    """The plan of an edit, as it was sent; None for other answers."""


def bind(answer: object, gates: Sequence[Gate], interrupts: Mapping[str, str], channel: str) -> list[Bound]:
    """Bind an answer to open gates.

    `interrupts` maps interrupt ids to gate ids. Accepts `{"decisions": […]}`, one decision, a
    word, a boolean, the Agent Inbox form, a map of any of these by interrupt or gate id, and for several
    gates as many decisions as they ask for (`open_gates`).
    Raises GateError for anything else, when it is not clear which gate is meant or it takes no such answer.
    """
    if not gates:
        raise GateError(
            "nothing on this thread waits for a decision", "see what waits: planwright ls --waiting"
        )
    answer = from_inbox(answer, gates[0]) if len(gates) == 1 else without_name(answer, gates)
    answer = as_decision(answer, gates, {*interrupts, *(gate.gate_id for gate in gates)})
    if isinstance(answer, Mapping) and (named := _named(answer, gates, interrupts)):
        return [_bound(gate, form, channel) for gate, form in named]
    wanted = gate_meant(answer)
    if wanted is None and len(gates) > 1:
        wanted = gate_of_action(answer, gates)
    if wanted is None and len(gates) > 1:
        return [_bound(gate, form, channel) for gate, form in over_all(answer, gates)]
    single = not any(forms_by_call(answer, gate) for gate in gates if wanted in (None, gate.gate_id))
    if single and (wanted is not None or len(gates) == 1 or isinstance(answer, Mapping)):
        read_decision(answer, channel)
    if wanted is not None:
        gate = next((gate for gate in gates if gate.gate_id == wanted), None)
        if gate is None:
            raise GateError(f"no open gate is named {in_ascii(wanted)}", f"open: {named_in(gates)}")
        return [_bound(gate, answer, channel)]
    return [_bound(gates[0], answer, channel)]


def read_decision(answer: object, channel: str) -> tuple[Decision, EditedAction | None]:
    """Read one decision, and the action of an edit. Raises GateError when it is not exactly one."""
    form = _single_decision(answer)
    word = _word(form["type"])
    args, shown_hash = form.get("args"), form.get("plan_hash")
    for name in ("plan_hash", "decided_by"):
        if not isinstance(form.get(name, ""), str | None):
            raise GateError(
                f"the {name} of an answer is a text", "leave it out, or copy it from what is shown"
            )
    if unknown := form.keys() - _KEYS:
        raise GateError(
            f"an answer has no field {in_ascii(min(unknown, key=str))}",
            f"it has: {', '.join(sorted(_KEYS))}",
        )
    reason = form.get("message") or form.get("reason") or (args if isinstance(args, str) else "")
    effects = _effects(form, word)
    if word == "respond" and not effects and not (isinstance(reason, str) and reason.strip()):
        raise GateError("a response without words says nothing", 'send {"type": "respond", "message": "…"}')
    if word != "edit" and form.get("edited_action") is not None:
        raise GateError(f"the answer is `{word}` and brings an edit", f"send {EDIT}")
    decision = Decision(
        answer=word,
        decided_by=str(form.get("decided_by") or channel),
        channel=channel,
        reason=str(reason or ""),
        shown_hash=shown_hash,
        remember=_approval_scope(form, word),
        effects=effects,
    )
    return decision, edited_action(form) if word == "edit" else None


def signed(answer: object, person: str) -> object:
    """Put a person's name to each decision of an answer, in whatever form of `bind` it came.

    Raises GateError when the answer names one itself: at a door that knows who asks, that counts for nothing.
    """
    if isinstance(answer, Mapping) and not answer.keys() & {"type", "decisions"}:
        return {key: _signed(form, person) for key, form in answer.items()}
    return _signed(answer, person)


def _signed(form: object, person: str) -> object:
    if isinstance(form, list | tuple):
        return [_signature(decision, person) for decision in form]
    if not isinstance(form, Mapping):
        return _signature(form, person)
    signature = _with_name(form, person)
    if isinstance(decisions := form.get("decisions"), list | tuple):
        signature["decisions"] = [_signature(decision, person) for decision in decisions]
    return signature


def _signature(form: object, person: str) -> object:
    if isinstance(form, bool | str | int | float):
        return {"type": form, "decided_by": person}
    return _with_name(form, person) if isinstance(form, Mapping) else form


def _with_name(form: Mapping[str, object], person: str) -> dict[str, object]:
    if "decided_by" in form:
        raise GateError("an answer does not say who gives it: the credential does", "leave decided_by out")
    return {**form, "decided_by": person}


def _word(value: object) -> GateAnswer:
    """Read the word of a decision. Letters that only look like it, or become it in small, are not it."""
    text = str(value).strip(" \t\r\n")
    word = _WORDS.get(text.lower()) if text.isascii() else None
    if word is None:
        raise GateError(
            f"{in_ascii(value)} is no answer to a gate", "answer approve, edit, reject or respond"
        )
    return word


def _approval_scope(form: Mapping[str, object], word: GateAnswer) -> ApprovalScope | None:
    """Read whether an approval is to hold for the same call again: a scope, or scope and arguments."""
    standing = form.get("remember")
    if standing is None:
        return None
    if word != "approve":
        raise GateError(f"`{word}` is not remembered, only an approval is", "leave `remember` out")
    try:
        return ApprovalScope.model_validate({"scope": standing} if isinstance(standing, str) else standing)
    except ValidationError as error:
        raise GateError(
            f"`remember` {problems_of(error, 'scope')}",
            'send {"type": "approve", "remember": "run"}, "session" or "always",'
            ' or what a tool may do: "remember": {"tools": {"NAME": "reads"}}',
        ) from error


def _effects(form: Mapping[str, object], word: GateAnswer) -> tuple[EffectAnswer, ...]:
    """Read what is said of effects in doubt, one by one; whether they are those of the gate is seen later."""
    answers = form.get("effects")
    if answers is None:
        return ()
    if word != "respond":
        raise GateError(f"the answer is `{word}` and says what became of effects", f"send {_EFFECTS}")
    if not isinstance(answers, list | tuple):
        raise GateError("`effects` is a list", f"send {_EFFECTS}")
    try:
        return tuple(EffectAnswer.model_validate(entry) for entry in answers)
    except ValidationError as error:
        raise GateError(f"`effects` {problems_of(error, 'entry')}", f"send {_EFFECTS}") from error


def _single_decision(answer: object) -> Mapping[str, object]:
    """Take the one decision out of the form it came in, as a mapping with a `type`."""
    form = answer
    if isinstance(form, Mapping) and "decisions" in form:
        if "type" in form:
            raise GateError("the answer holds two decisions", 'send {"decisions": [{"type": "approve"}]}')
        decisions = form["decisions"]
        if not isinstance(decisions, Sequence) or isinstance(decisions, str) or len(decisions) != 1:
            raise GateError("a gate takes exactly one decision", 'send {"decisions": [{"type": "approve"}]}')
        inner = decisions[0] if isinstance(decisions[0], Mapping) else {"type": decisions[0]}
        outer = {key: value for key, value in form.items() if key != "decisions"}
        if twice := [key for key in outer if key in inner and outer[key] != inner[key]]:
            raise GateError(f"the answer names two different {in_ascii(twice[0])}", "say it once")
        form = {**outer, **inner}
    elif isinstance(form, Sequence) and not isinstance(form, str) and len(form) == 1:
        form = form[0]
    if isinstance(form, bool | str):
        form = {"type": str(form)}
    if not isinstance(form, Mapping) or not isinstance(form.get("type"), bool | str):
        raise GateError(
            "that is no decision", 'send {"decisions": [{"type": "approve"}]}, or "approve", or "reject"'
        )
    return form


def _bound(gate: Gate, answer: object, channel: str) -> Bound:
    answer = as_decision(from_inbox(answer, gate), [gate], ())
    forms: Sequence[object] = forms_by_call(answer, gate) or [answer]
    decided = [read_decision(form, channel) for form in forms]
    decision, edit = decided[0]
    if len(decided) > 1 or (edit and gate.kind == "step"):
        decision, edit = decision_of_calls(decided, gate), None
    if edit and gate.kind == "limit":
        decision, edit = with_amount(gate, decision, edit), None
    acceptable(gate, decision)
    if len(decided) > 1:
        return Bound(gate, decision)
    brought = _single_decision(answer).get("args")
    bare = brought is None or isinstance(brought, str)
    if (
        decision.answer == "approve"
        and not bare
        and not (isinstance(brought, Mapping) and is_shown_action(gate, brought))
    ):
        raise GateError(
            "the answer is `approve` and brings other arguments than are shown",
            "approve without args, or edit the plan",
        )
    return Bound(gate, decision, edited_plan(edit) if edit else None)


def _named(
    answer: Mapping[str, object], gates: Sequence[Gate], interrupts: Mapping[str, str]
) -> list[tuple[Gate, object]]:
    """Read a map by interrupt or gate id; empty when the mapping is a decision itself."""
    if answer.keys() & {"type", "decisions"}:
        return []
    open_ = {gate.gate_id: gate for gate in gates}
    named: list[tuple[Gate, object]] = []
    for key, form in answer.items():
        gate = open_.get(interrupts.get(str(key), str(key)))
        if gate is None:
            raise GateError(f"no open gate or interrupt is named {in_ascii(key)}", f"open: {named_in(gates)}")
        if gate_meant(form) not in (None, gate.gate_id):
            raise GateError(f"the answer to gate {gate.gate_id} names another gate", "name each gate once")
        if any(gate.gate_id == other.gate_id for other, _ in named):
            raise GateError(f"gate {gate.gate_id} is answered twice", "answer each gate once")
        named.append((gate, form))
    return named
