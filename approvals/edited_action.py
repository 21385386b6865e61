"""What an edit puts in the place of what was shown: another plan, or another amount of a limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planwright.domain.errors import GateError, SetupError
from planwright.records.consent.gate import EXTEND, Decision, Gate
from planwright.records.extensions import check_amounts

EDIT = '{"type": "edit", "edited_action": {"name": "approve_plan", "args": {"plan": {"steps": […]}}}}'
_AMOUNT = '{"type": "edit", "edited_action": {"name": "extend_budget", "args": {"amount": 20}}}'
_FORMS = (("edited_action", "name"), ("args", "action"))


@dataclass(frozen=True)
class EditedAmount:
    """How much more of a limit is given instead of what was asked for."""

    args: Mapping[str, object]
    """Arguments as they were sent: `amount`, and those that were shown."""


def edited_action(form: Mapping[str, object]) -> object:
    """Find the plan of an edit, or its amount, in LangChain's form or that of the Agent Inbox.

    Raises GateError.
    """
    edits = [(form[key], name) for key, name in _FORMS if form.get(key) is not None]
    action, name = edits[0] if len(edits) == 1 else (None, "")
    if not isinstance(action, Mapping):
        raise GateError("an edit brings the whole edited plan, once", f"send {EDIT}")
    args = action.get("args")
    if action.keys() == {name, "args"} and action[name] == EXTEND and isinstance(args, Mapping):
        return EditedAmount(args)
    if action.keys() != {name, "args"} or action[name] != "approve_plan":
        raise GateError(
            f"an edit is of approve_plan, not of {in_ascii(action.get(name))}: change the steps of its plan",
            f"send {EDIT}",
        )
    if not isinstance(args, Mapping) or args.keys() != {"plan"}:
        raise GateError("the args of an edit are exactly the plan", f"send {EDIT}")
    return args["plan"]


def with_amount(gate: Gate, decision: Decision, edit: object) -> tuple[Decision, object]:
    """Turn an edit of how much more is given into a yes to that much; anything else stays as it is.

    Raises GateError for an amount that cannot be given, and for the edit of a plan where a limit is asked
    about, or the other way round.
    """
    if decision.answer != "edit" or (gate.kind != "limit" and not isinstance(edit, EditedAmount)):
        return decision, edit
    if gate.kind != "limit" or not isinstance(edit, EditedAmount):
        wanted = _AMOUNT if gate.kind == "limit" else EDIT
        raise GateError(f"gate {gate.gate_id} asks about something else than was edited", f"send {wanted}")
    card_args, amount = gate.card["args"], _number(edit.args.get("amount"))
    rest = {name: value for name, value in edit.args.items() if name != "amount"}
    if not isinstance(card_args, dict) or any(card_args.get(name) != value for name, value in rest.items()):
        raise GateError("only the amount can be edited", f"send {_AMOUNT}")
    try:
        check_amounts(dict.fromkeys(gate.more, amount))
    except SetupError as error:
        raise GateError(error.cause, error.next_step) from error
    return decision.model_copy(update={"answer": "approve", "more": amount}), None


def _number(amount: object) -> float:
    """Read an amount; inboxes send it as a text. Raises GateError for what is none."""
    try:
        return float(str(amount))
    except ValueError as error:
        raise GateError(f"{in_ascii(amount)} is no amount", f"send {_AMOUNT}") from error


def in_ascii(value: object) -> str:
    """Quote what was sent so that all of it shows, and not more than fits."""
    text = ascii(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
