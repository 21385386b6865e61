"""Answers of LangGraph's Agent Inbox, which shows one action a card, in the forms that every gate takes.

It sends HumanResponse: `{"type": "accept" | "edit" | "response" | "ignore", "args": …}`, in a list of one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from planwright.approvals.gate import InboxRequest, PagePrompt, gate_prompt, inbox_request
from planwright.records.consent.call_question import QUESTION
from planwright.records.consent.gate import Gate


def from_inbox(answer: object, gate: Gate) -> object:
    """Turn an answer of the inbox into one that this gate takes, and leave any other as it is.

    `accept` with the action as it was shown, or without arguments for a single one, approves. `response`
    is a no with words where the gate takes no words in the place of an answer. `edit` may have JSON as text.
    """
    form = _form(answer)
    if form is None:
        return answer
    if QUESTION in gate.card:
        return _to_question(form, answer, gate)
    rest = {key: value for key, value in form.items() if key != "args"}
    if form["type"] == "response" and isinstance(form["args"], str) and not _takes_words(gate):
        return {**rest, "type": "reject", "message": form["args"]}
    if not isinstance(form["args"], Mapping) or form["args"].keys() != {"action", "args"}:
        return answer
    if form["type"] == "accept":
        return rest if is_shown_action(gate, form["args"]) else answer
    is_edit = form["type"] == "edit" and gate.kind == "step"
    return _edit(form["args"], rest, gate_prompt(gate)) if is_edit else answer


def from_inbox_to_all(answer: object, prompt: PagePrompt) -> object:
    """Turn an answer of the inbox to several gates that it was shown as one into a decision over each action.

    Whatever else it is stays as it is.
    """
    form = _form(answer)
    if form is None:
        return answer
    beside = {key: value for key, value in form.items() if key == "decided_by"}
    word, args = form["type"], form["args"]
    decision: dict[str, object] | None = None
    if word == "ignore":
        decision = {"type": "reject"}
    elif word == "response" and isinstance(args, str):
        decision = {"type": "reject", "message": args}
    elif isinstance(args, Mapping) and args.keys() == {"action", "args"}:
        if word == "edit":
            return _edit(args, {**beside, "type": word}, prompt)
        if word == "accept" and _is_action_of(prompt, args):
            decision = {"type": "approve"}
    return {**beside, "decisions": [decision] * len(prompt["action_requests"])} if decision else answer


def _form(answer: object) -> Mapping[str, object] | None:
    """Find the HumanResponse in an answer; None where it is no such."""
    form = answer[0] if isinstance(answer, list | tuple) and len(answer) == 1 else answer
    if not isinstance(form, Mapping) or form.keys() - {"decided_by"} != {"type", "args"}:
        return None
    return form


def is_shown_action(gate: Gate, action: Mapping[str, object]) -> bool:
    """Say whether an action that an accept brings back is all that a gate showed to whoever sent it."""
    return _is_action_of(gate_prompt(gate), action)


def _is_action_of(prompt: PagePrompt, action: Mapping[str, object]) -> bool:
    action_in_inbox = inbox_request(prompt)
    bare: InboxRequest = {"action": action_in_inbox["action"], "args": {}}
    alone = len(prompt["action_requests"]) == 1
    return action in (prompt["action_request"], action_in_inbox, *([bare] if alone else ()))


def gate_of_action(answer: object, gates: Sequence[Gate]) -> str | None:
    """Find the one gate that showed the action which an answer of the inbox brings back; None otherwise."""
    form = answer[0] if isinstance(answer, list | tuple) and len(answer) == 1 else answer
    action = form.get("args") if isinstance(form, Mapping) else None
    if not isinstance(action, Mapping) or not action.get("args"):
        return None
    meant = [gate.gate_id for gate in gates if is_shown_action(gate, action)]
    return meant[0] if len(meant) == 1 else None


def _takes_words(gate: Gate) -> bool:
    """Say whether `response` at a gate is more than a no: a plan is made anew, effects are spoken of."""
    return "respond" in gate.allowed and (gate.kind != "step" or bool(gate.doubts))


def _to_question(form: Mapping[str, object], answer: object, gate: Gate) -> object:
    """Answer the question of a call in words, unless the one that asks reads this form itself."""
    question = gate.card[QUESTION]
    value = question.get("value") if isinstance(question, Mapping) else None
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, Mapping) and "action_request" in first:
        return answer
    rest = {key: value for key, value in form.items() if key != "args"}
    if form["type"] == "response" and isinstance(form["args"], str):
        return {**rest, "type": "respond", "message": form["args"]}
    return {**rest, "type": "reject"} if form["type"] == "ignore" else answer


def _edit(action: Mapping[str, object], rest: Mapping[str, object], prompt: PagePrompt) -> object:
    """Spell an edit as decisions over the calls that were shown in one; what was not changed is approved."""
    edited, actions = action["args"], prompt["action_requests"]
    if not isinstance(edited, Mapping):
        return {**rest, "args": action}
    beside = {key: value for key, value in rest.items() if key != "type"}
    if len(actions) == 1:
        args = _as_shown(edited, actions[0]["args"])
        return {**rest, "edited_action": {"name": action["action"], "args": args}}
    if edited.keys() != prompt["action_request"]["args"].keys():
        return {**rest, "args": action}
    decisions = [
        {
            "type": "edit",
            "edited_action": {"name": request["name"], "args": _as_shown(_parsed(text), request["args"])},
        }
        for text, request in zip(edited.values(), actions, strict=True)
    ]
    return {**beside, "decisions": decisions}


def _as_shown(edited: object, before: Mapping[str, JsonValue]) -> object:
    """Read what was typed for a value that is no text, and keep what an inbox does not show: nulls."""
    if not isinstance(edited, Mapping):
        return edited
    typed = {
        name: value if isinstance(before.get(name, ""), str) else _parsed(value)
        for name, value in edited.items()
    }
    return {name: None for name, value in before.items() if value is None} | typed


def _parsed(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
