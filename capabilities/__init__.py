"""What can be done: the contract of a capability, the registry, the policy and the gateway.

`from planwright.capabilities import CallContext, Compensation, capability` is all that a module of
capabilities needs; each name is loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planwright.capabilities.call_context import CallContext as CallContext
    from planwright.capabilities.declaration import capability as capability
    from planwright.domain.plan import Compensation as Compensation

_HOMES = {
    "CallContext": "planwright.capabilities.call_context",
    "Compensation": "planwright.domain.plan",
    "capability": "planwright.capabilities.declaration",
}

__all__ = ["CallContext", "Compensation", "capability"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
