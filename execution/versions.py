"""What runs are made under: the hash of everything that decides how they go, read when they begin."""

from __future__ import annotations

from importlib.metadata import version

from planwright.capabilities.registry import Registry
from planwright.critic.verdict_inputs import evaluators_hash
from planwright.domain.hashing import sha256
from planwright.prompts import prompts_hash
from planwright.settings.settings import Settings

APART = frozenset(
    ("workspace", "providers", "sources", "storage", "secrets", "server", "logging", "tracing", "audit")
)
"""Sections of the settings that name places, keys and looks, and do not change what a run does."""


def workspace_versions(settings: Settings, registry: Registry, policy_hash: str) -> dict[str, str]:
    """Name each part by its hash, and the program by its version."""
    return {
        "program": version("planwright"),
        "prompts": prompts_hash(),
        "registry": registry.hash,
        "policy": policy_hash,
        "settings": sha256(settings.model_dump(mode="json", exclude=set(APART))),
        "evaluators": evaluators_hash(),
    }
