"""Whether the gate of a call lets it pass, and what the person who decided could read there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

from planwright.capabilities.contract import Capability
from planwright.checkpoints.consent.gate import Gate
from planwright.domain.hashing import sha256
from planwright.domain.verified_step import VerifiedStep


class Permit(NamedTuple):
    """That a call may be made: whether a person decided over it, and whether over doing it `again`."""

    by_person: bool
    """Whether a person decided over the call."""
    again: bool = False
    """Whether a person decided that it is done again."""


class Admitted(NamedTuple):
    """A call that may be made."""

    capability: Capability
    """Capability, narrowed to its arguments."""
    args: dict[str, JsonValue]
    """Arguments of the call, checked."""
    by_person: bool
    """Whether a person decided over it."""
    beside: frozenset[str]
    """Uids of the steps of its plan."""


def says_again(gate: Gate, checked: VerifiedStep) -> bool:
    """Say whether the card of a gate shows that the like was done before in its run."""
    calls = (call for call in gate.calls if call.get("uid", checked.uid) == checked.uid)
    return any(call.get("done_before") == gate.run_id for call in calls)


def opens(gate: Gate, args: Mapping[str, JsonValue], checked: VerifiedStep) -> bool:
    """Say whether a gate lets a call pass: approved as it was shown, with these arguments, as it is now."""
    card = sha256(gate.card)
    as_shown = gate.card_hash == card and all(approval.card == card for approval in gate.approvals)
    calls = (call for call in gate.calls if call.get("uid", checked.uid) == checked.uid)
    exact = any(call.get("args") == args and call.get("pin") == checked.pin for call in calls)
    return gate.status == "approved" and as_shown and exact
