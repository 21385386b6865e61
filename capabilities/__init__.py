"""What can be done: the contract of a capability, the registry, the policy and the gateway.

A module of capabilities imports from here all that it needs: `capability`, `CallContext`, `Compensation`,
`Guide`, and the two errors that its functions raise. Each name is loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planwright.capabilities.call_context import CallContext as CallContext
    from planwright.capabilities.contract import Guide as Guide
    from planwright.capabilities.declaration import capability as capability
    from planwright.domain.errors import CapabilityRejected as CapabilityRejected
    from planwright.domain.errors import CapabilityUnavailable as CapabilityUnavailable
    from planwright.domain.plan import Compensation as Compensation

_HOMES = {
    "CallContext": "planwright.capabilities.call_context",
    "CapabilityRejected": "planwright.domain.errors",
    "CapabilityUnavailable": "planwright.domain.errors",
    "Compensation": "planwright.domain.plan",
    "Guide": "planwright.capabilities.contract",
    "capability": "planwright.capabilities.declaration",
}

__all__ = [
    "CallContext",
    "CapabilityRejected",
    "CapabilityUnavailable",
    "Compensation",
    "Guide",
    "capability",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
