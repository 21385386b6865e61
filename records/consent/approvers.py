"""Who may approve at a gate, and how many have to, where the policy says so."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

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


class NeededPeople(Protocol):
    """Which people a rule or a gate needs."""

    @property
    def approvers(self) -> tuple[str, ...]:
        """Who may approve; empty for anybody."""

    @property
    def quorum(self) -> int:
        """How many different people have to approve."""

    @property
    def exclude_requester(self) -> bool:
        """Whether who asked may not approve."""


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


def requester_of(card: Mapping[str, JsonValue]) -> str | None:
    """Read who asked and so may not approve; "" where nobody knows who, None where that is no matter."""
    policy = card.get("policy")
    if not (isinstance(policy, dict) and policy.get("exclude_requester")):
        return None
    return str(policy.get("requester") or "")


def excluded_words(card: Mapping[str, JsonValue]) -> str:
    """Say who may not approve, as they have asked; "" where that is no matter."""
    requester = requester_of(card)
    return "" if requester is None else f"who asked: {requester or 'nobody knows who'}"


def with_requester(card: Mapping[str, JsonValue], requester: str) -> dict[str, JsonValue]:
    """Show on a card who asked, where that person may not approve."""
    policy = card.get("policy")
    if requester_of(card) is None or not isinstance(policy, dict):
        return dict(card)
    return {**card, "policy": {**policy, "requester": requester}}


def check_requester(gate_id: str, requester: str | None, by: str | None, channel: str | None) -> None:
    """Raise GateError unless it is known to be somebody else than who asked that approves.

    Where nobody knows who asked, nobody is known to be somebody else.
    """
    if requester is None:
        return
    if not _person(requester):
        raise GateError(
            f"who asked may not approve gate {gate_id}, and nobody knows who asked",
            "reject it, and ask again where it is known: at the terminal, on the page, with a token, or with"
            ' RunContext(requested_by="…")',
        )
    if _person(by or "") in ("", _person(channel or "")):
        raise GateError(
            f"who asked, {requester}, may not approve gate {gate_id}; the answer does not say whose it is",
            'send {"type": "approve", "decided_by": "…"}',
        )
    if _person(by or "") == _person(requester):
        raise GateError(
            f"gate {gate_id} is not for who asked, {requester}, to approve",
            f"somebody else has to: planwright approve {gate_id}, at their own login; anybody may reject",
        )


def any_one_may(card: Mapping[str, JsonValue]) -> bool:
    """Say whether one person is enough to approve, whoever asked."""
    return quorum_of(card) == 1 and requester_of(card) is None


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
    gate_id: str, approvals: Sequence[Approval], needed: NeededPeople, card: Mapping[str, JsonValue]
) -> None:
    """Raise GateError unless as many as have to, and only who may, have approved a card."""
    requester = requester_of(card)
    if needed.exclude_requester and requester is None:
        raise GateError(f"gate {gate_id} was open to who asked", "let it be asked for again")
    for approval in approvals:
        check_approver(gate_id, needed.approvers, approval.by, approval.channel)
        check_requester(gate_id, requester, approval.by, approval.channel)
    if len({_person(approval.by) for approval in approvals}) < needed.quorum:
        raise GateError(
            f"gate {gate_id} has {len(approvals)} of {needed.quorum} approvals",
            "somebody else has to approve it",
        )


def _person(name: str) -> str:
    """Spell a name in one way: `Kim`, `kim ` and one with letters that nobody sees are one person."""
    plain = _UNSEEN.sub("", unicodedata.normalize("NFKC", name))
    seen = "".join(c for c in plain if c.isspace() or unicodedata.category(c) not in ("Cc", "Cf"))
    return " ".join(seen.split()).casefold()
