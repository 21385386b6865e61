"""Who may approve at a gate, where the policy names them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from planwright.graph.errors import GateError

CHANNEL = "channel:"


def approvers_of(shown: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """Read from what a gate shows who may approve; empty when anybody may."""
    policy = shown.get("policy")
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
