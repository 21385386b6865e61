"""Pins: what a capability and the policy were when a card was made: an approval covers nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planwright.capabilities.contract import Capability
from planwright.capabilities.registry import Registry
from planwright.domain.hashing import sha256
from planwright.domain.verified_step import VerifiedStep

GONE = "gone"
NO_PIN = "an older version planned it, and did not record what it would call"


def pin_of(capability: Capability, policy_hash: str) -> str:
    """Name a capability as it is now, and the policy: `<16 hex digits>.<16 hex digits>`."""
    return f"{capability.digest}.{policy_hash[:16]}"


def pin_of_tools(names: Iterable[str], registry: Registry, policy_hash: str) -> str:
    """Name what a step may call that is left to a model, as it is now."""
    tools = [(name, tool and tool.digest) for name in sorted(names) for tool in [registry.get(name)]]
    return f"{sha256(tools)[:16]}.{policy_hash[:16]}"


def pin_now(checked: VerifiedStep, registry: Registry, policy_hash: str) -> str:
    """Name what a recorded step would call now; `gone` where it is not there any more."""
    if checked.step.agentic:
        return pin_of_tools(checked.step.tool_hints, registry, policy_hash)
    if checked.chain is not None:
        parts = pin_of_tools(checked.chain.needs, registry, policy_hash)
        return f"{checked.chain.hash[:16]}-{parts}"
    capability = registry.get(checked.step.capability or "")
    return GONE if capability is None else pin_of(capability, policy_hash)


def changed_since(
    steps: Mapping[str, VerifiedStep], registry: Registry, policy_hash: str, done: Iterable[str] = ()
) -> list[str]:
    """Say in words what has changed since steps were verified; those in `done` do not run again.

    What is gone is not listed: its step fails, and says so.
    """
    finished = set(done)
    changes: list[str] = []
    for checked in steps.values():
        now = pin_now(checked, registry, policy_hash)
        if checked.uid in finished or now in (GONE, checked.pin):
            continue
        changes.append(f"{checked.step.id}: {_how(checked, now, registry)}")
    return changes


def _how(checked: VerifiedStep, now: str, registry: Registry) -> str:
    if not checked.pin:
        return NO_PIN
    if now.rpartition(".")[0] == checked.pin.rpartition(".")[0]:
        return "the policy has changed"
    name = checked.step.shown_name
    capability = registry.get(checked.step.capability or "")
    if capability is not None:
        graver = [
            f"its {field} is {now}, and was {was}"
            for field, now, was in (
                ("mode", capability.mode, checked.mode),
                ("risk", capability.risk, checked.risk),
            )
            if now != was
        ]
        if graver and not capability.varies:
            return f"{name} has changed: {', '.join(graver)}"
    return f"{name} has changed since it was shown"
