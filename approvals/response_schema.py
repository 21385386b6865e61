"""The forms that an answer to a gate may have, as a JSON schema beside the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from planwright.records.consent.approval_scope import ScopeDuration, ToolMay
from planwright.records.consent.gate import EXTEND, GateAnswer

_PLAN_ARGS: dict[str, object] = {
    "type": "object",
    "properties": {"plan": {"type": "object", "required": ["steps"]}},
    "required": ["plan"],
}
_AMOUNT: dict[str, object] = {
    "type": "object",
    "properties": {
        "name": {"const": EXTEND},
        "args": {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]},
    },
    "required": ["name", "args"],
}
_EFFECT: dict[str, object] = {
    "type": "object",
    "properties": {"key": {"type": "string", "minLength": 4}, "happened": {"type": "boolean"}, "result": {}},
    "required": ["key", "happened"],
}


def response_schema(
    *answers: GateAnswer,
    most: int = 1,
    doubts: int = 0,
    undeclared: Sequence[str] = (),
    unseen: bool = False,
    edits: Sequence[str] = (),
    amount: bool = False,
) -> dict[str, object]:
    """Describe LangChain's HITLResponse: one decision, or one for each of `most` calls.

    An edit is of the plan, of an `amount`, or of a call of one of the tools that `edits` names.
    Where effects are in doubt, `respond` says of each whether it happened; of a single one, words do.
    Of tools that say nothing of what they may do (`undeclared`) an approval may say it, and of a plan that
    values which are not known yet need not be shown (`unseen`).
    """
    message = {"type": "string"}
    response: dict[str, object] = {"message": {**message, "minLength": 1}}
    if doubts:
        response |= {"effects": {"type": "array", "minItems": doubts, "maxItems": doubts, "items": _EFFECT}}
    fields: dict[GateAnswer, dict[str, object]] = {
        "approve": {
            "message": message,
            **_remember(undeclared, scopes="edit" not in answers or bool(edits), unseen=unseen),
        },
        "edit": {"message": message, "edited_action": _AMOUNT if amount else _edited_action(edits)},
        "reject": {"message": message},
        "respond": response,
    }
    responds = [] if doubts == 1 else ["effects" if doubts else "message"]
    demanded = {"edit": ["edited_action"], "respond": responds}
    forms = [
        {
            "type": "object",
            "properties": {"type": {"const": name}, **fields[name]},
            "required": ["type", *demanded.get(name, ())],
        }
        for name in answers
    ]
    decisions = {"type": "array", "minItems": most, "maxItems": most, "items": {"anyOf": forms}}
    return {"type": "object", "properties": {"decisions": decisions}, "required": ["decisions"]}


def _edited_action(tools: Sequence[str]) -> dict[str, object]:
    name: dict[str, object] = {"enum": [*tools]} if tools else {"const": "approve_plan"}
    args: dict[str, object] = {"type": "object"} if tools else _PLAN_ARGS
    return {"type": "object", "properties": {"name": name, "args": args}, "required": ["name", "args"]}


def _remember(undeclared: Sequence[str], *, scopes: bool, unseen: bool) -> dict[str, object]:
    """Describe what an approval may hold for beyond this once."""
    words = list(get_args(ScopeDuration)) if scopes else []
    forms: list[dict[str, object]] = [{"enum": words}, _breadth(words)] if words else []
    more: dict[str, object] = {"unseen": {"const": True}} if unseen else {}
    if more:
        forms.append({"type": "object", "properties": more, "required": ["unseen"]})
    if undeclared:
        may = {name: {"enum": list(get_args(ToolMay))} for name in undeclared}
        tools = {"type": "object", "properties": may, "additionalProperties": False}
        properties = {**more, "tools": tools, **({"scope": {"enum": words}} if words else {})}
        forms.append({"type": "object", "properties": properties, "required": ["tools"]})
    return {"remember": forms[0] if len(forms) == 1 else {"anyOf": forms}} if forms else {}


def _breadth(words: Sequence[str]) -> dict[str, object]:
    """Describe how far an approval that lasts goes: which arguments may differ, when, how many calls."""
    texts = {name: {"type": "string"} for name in ("glob", "under", "origin")}
    forms = {"any": {"const": True}, "equals": {}, **texts}
    rule = {"type": "object", "properties": forms, "minProperties": 1, "maxProperties": 1}
    return {
        "type": "object",
        "properties": {
            "scope": {"enum": [*words]},
            "args": {"type": "object", "additionalProperties": rule},
            "when": {"type": "string"},
            "most": {"type": "integer", "minimum": 1},
        },
        "required": ["scope"],
        "additionalProperties": False,
    }


RESPONSE_SCHEMA = response_schema("approve", "edit", "reject", "respond")
