"""Checking a policy against what there is: names that match nothing, and rules that decide nothing."""

from __future__ import annotations

from planwright.capabilities.policy.decide import UNRULED
from planwright.capabilities.policy.file import DEFAULT, Policy, Rule
from planwright.capabilities.registry import Registry
from planwright.domain.errors import SetupError
from planwright.settings.profile import stands_for


def check_policy(policy: Policy, registry: Registry) -> None:
    """Raise SetupError for a rule about a capability that there is not.

    One that a setting leaves out counts, and so does any of an MCP server that is not there.
    """
    if policy.path == DEFAULT:
        return
    known = {*registry.names, *registry.left_out}
    for rule in policy.rules:
        for glob in rule.match.capability or ():
            if registry.absent_server(glob):
                continue
            if not any(stands_for(glob, name) for name in known):
                near = ", ".join(registry.near(glob)) or "see planwright capabilities"
                raise SetupError(
                    f"{policy.path.parent / rule.where}: there is no capability {glob!r}", f"nearest: {near}"
                )
            if all(name in UNRULED for name in known if stands_for(glob, name)):
                raise SetupError(
                    f"{policy.path.parent / rule.where}: {glob} is no matter of policy",
                    f"a run always has {', '.join(UNRULED)}",
                )


def reached(rule: Rule, registry: Registry) -> tuple[str, ...]:
    """Name the capabilities that a rule is about, by their declarations."""
    return tuple(
        capability.name
        for capability in registry
        if capability.name not in UNRULED
        and rule.match.declared(
            capability.name, capability.mode, None if capability.varies else capability.risk
        )
    )


def unreachable(policy: Policy, registry: Registry) -> dict[str, str]:
    """Find rules that decide nothing, by where they stand, and say why."""
    useless: dict[str, str] = {}
    denied: dict[str, Rule] = {}
    settled: dict[str, Rule] = {}
    for rule in (*policy.denies, *policy.others):
        matched = reached(rule, registry)
        mine = denied if rule in policy.denies else settled
        earlier = [by for name in matched if (by := denied.get(name) or settled.get(name))]
        if not matched:
            useless[rule.where] = "there is no such capability now"
        elif len(earlier) == len(matched):
            useless[rule.where] = f"{', '.join(dict.fromkeys(by.where for by in earlier))} decides before it"
        if rule.condition is None and rule.match.tenant is None:
            mine.update({name: rule for name in matched if name not in mine and _whole(rule, name, registry)})
    return useless


def _whole(rule: Rule, name: str, registry: Registry) -> bool:
    """Say whether a rule is about every call of a capability, whatever risk its arguments give it."""
    capability = registry.get(name)
    return capability is not None and not (capability.varies and rule.match.risk)
