"""What an edit puts in the place of what was shown: a plan, arguments of a call, or an amount of a limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

from planwright.domain.errors import GateError, SetupError
from planwright.records.consent.gate import EXTEND, Decision, Gate
from planwright.records.extensions import check_amounts

EDIT = '{"type": "edit", "edited_action": {"name": "approve_plan", "args": {"plan": {"steps": […]}}}}'
_AMOUNT = '{"type": "edit", "edited_action": {"name": "extend_budget", "args": {"amount": 20}}}'
_FORMS = (("edited_action", "name"), ("args", "action"))


class EditedAction(NamedTuple):
    """An action as a person wants it."""

    name: str
    """Name of what is called: a tool, `approve_plan` or `extend_budget`."""
    args: dict[str, JsonValue]
    """All its arguments."""


def edited_action(form: Mapping[str, object]) -> EditedAction:
    """Find the action of an edit, in LangChain's form or that of the Agent Inbox. Raises GateError."""
    edits = [(form[key], name) for key, name in _FORMS if form.get(key) is not None]
    action, name = edits[0] if len(edits) == 1 else (None, "")
    if not isinstance(action, Mapping) or action.keys() != {name, "args"}:
        raise GateError("an edit brings the whole edited plan, or all arguments of a call", f"send {EDIT}")
    if not isinstance(action["args"], Mapping):
        raise GateError("the args of an edit are what stands on the card, by name", f"send {EDIT}")
    return EditedAction(str(action[name]), dict(action["args"]))


def edited_plan(edit: EditedAction) -> JsonValue:
    """Find the plan of an edit. Raises GateError where it is of something else."""
    if edit.name != "approve_plan":
        raise GateError(
            f"an edit is of approve_plan, not of {in_ascii(edit.name)}: change the steps of its plan",
            f"send {EDIT}",
        )
    if edit.args.keys() != {"plan"}:
        raise GateError("the args of an edit are exactly the plan", f"send {EDIT}")
    return edit.args["plan"]


def with_amount(gate: Gate, decision: Decision, edit: EditedAction) -> Decision:
    """Turn an edit of how much more of a limit is given into a yes to that much.

    Raises GateError for an amount that cannot be given, and for an edit of something else.
    """
    if edit.name != EXTEND:
        cause = f"gate {gate.gate_id} asks about something else than was edited"
        raise GateError(cause, f"send {_AMOUNT}")
    card_args, amount = gate.card["args"], _number(edit.args.get("amount"))
    rest = {name: value for name, value in edit.args.items() if name != "amount"}
    if not isinstance(card_args, dict) or any(card_args.get(name) != value for name, value in rest.items()):
        raise GateError("only the amount can be edited", f"send {_AMOUNT}")
    try:
        check_amounts(dict.fromkeys(gate.more, amount))
    except SetupError as error:
        raise GateError(error.cause, error.next_step) from error
    return decision.model_copy(update={"answer": "approve", "more": amount})


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
