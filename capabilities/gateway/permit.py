"""Whether the gate of a call lets it pass, and what the person was told there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

from planwright.checkpoints.consent.gate import Gate
from planwright.domain.hashing import sha256
from planwright.domain.plan import CheckedStep


class Permit(NamedTuple):
    """That a call may be made: whether a person decided over it, and whether over doing it `again`."""

    asked: bool
    """Whether a person decided over the call."""
    again: bool = False
    """Whether a person decided that it is done again."""


def says_again(gate: Gate, checked: CheckedStep) -> bool:
    """Say whether the card of a gate told that the like was done before in its run."""
    shown = (call for call in gate.calls if call.get("uid", checked.uid) == checked.uid)
    return any(call.get("done_before") == gate.run_id for call in shown)


def opens(gate: Gate, args: Mapping[str, JsonValue], checked: CheckedStep) -> bool:
    """Say whether a gate lets a call pass: approved as it was shown, with these arguments, as it is now."""
    card = sha256(gate.shown)
    as_shown = gate.card_hash == card and all(approval.card == card for approval in gate.approvals)
    shown = (call for call in gate.calls if call.get("uid", checked.uid) == checked.uid)
    exact = any(call.get("args") == args and call.get("pin") == checked.pin for call in shown)
    return gate.status == "approved" and as_shown and exact
