"""Who may approve at a gate, and how many have to, where the policy says so."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from pydantic import BaseModel, ConfigDict, JsonValue

from planwright.domain.errors import GateError

CHANNEL = "channel:"
# Letters and marks that are not shown, beside controls (Unicode, Default_Ignorable_Code_Point)
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\ufe00-\ufe0f\ufff0-\ufff8\U000e0000-\U000e0fff]"
)


class Approval(BaseModel):
    """One approval: whose, through which channel, and the hash of the card it was given to."""

    model_config = ConfigDict(frozen=True)
    by: str
    """Who approved."""
    channel: str
    """Door that the approval came through."""
    at: datetime
    """When it was given, in UTC."""
    card: str = ""
    """Hash of the card that it was given to."""


def approvers_of(card: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """Read from what a gate shows who may approve; empty when anybody may."""
    policy = card.get("policy")
    named = policy.get("approvers") if isinstance(policy, dict) else None
    return tuple(map(str, named)) if isinstance(named, list) else ()


def check_approver(gate_id: str, approvers: Iterable[str], by: str | None, channel: str | None) -> None:
    """Raise GateError unless the one who approves is named, or the channel is, as `channel:cli`.

    Names are what the door was told: there are no accounts, so a name is a record and a channel is a door.
    """
    named = list(approvers)
    if named and by not in named and f"{CHANNEL}{channel}" not in named:
        raise GateError(
            f"gate {gate_id} is not for {by or 'nobody'} via {channel} to approve",
            f"the policy names: {', '.join(named)}; anybody may reject",
        )


def quorum_of(card: Mapping[str, JsonValue]) -> int:
    """Read from what a gate shows how many different people have to approve."""
    policy = card.get("policy")
    quorum = policy.get("quorum") if isinstance(policy, dict) else None
    return quorum if isinstance(quorum, int) else 1


def check_person(gate_id: str, approvals: Sequence[Approval], by: str, channel: str, quorum: int) -> None:
    """Raise GateError unless it is somebody else who approves: a quorum counts people, and by their names."""
    if quorum > 1 and _person(by) in ("", _person(channel)):
        raise GateError(
            f"gate {gate_id} needs {quorum} people, and the answer does not say whose it is",
            'send {"type": "approve", "decided_by": "…"}',
        )
    if _person(by) in {_person(approval.by) for approval in approvals}:
        raise GateError(
            f"{by} has approved gate {gate_id} already: {len(approvals)} of {quorum} approvals are given",
            "somebody else has to: at their own login, or as `decided_by`; anybody may reject",
        )


def check_approvals(
    gate_id: str, approvals: Sequence[Approval], approvers: Iterable[str], quorum: int
) -> None:
    """Raise GateError unless as many as have to, and only who may, have approved."""
    named = tuple(approvers)
    for approval in approvals:
        check_approver(gate_id, named, approval.by, approval.channel)
    if len({_person(approval.by) for approval in approvals}) < quorum:
        raise GateError(
            f"gate {gate_id} has {len(approvals)} of {quorum} approvals", "somebody else has to approve it"
        )


def _person(name: str) -> str:
    """Spell a name in one way: `Kim`, `kim ` and one with letters that nobody sees are one person."""
    plain = _UNSEEN.sub("", unicodedata.normalize("NFKC", name))
    seen = "".join(c for c in plain if c.isspace() or unicodedata.category(c) not in ("Cc", "Cf"))
    return " ".join(seen.split()).casefold()
