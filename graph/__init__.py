"""The compiled graphs, the door into them, and what LangGraph's server loads.

`from planwright.graph import open_agent, build_graph` works; both load on first use, because
an eager import would make the nodes import this package in a circle.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planwright.domain.run_context import RunContext as RunContext
    from planwright.graph.building import build_graph as build_graph
    from planwright.graph.building import open_agent as open_agent
    from planwright.settings.settings import Settings as Settings

_HOMES = {
    "build_graph": "planwright.graph.building",
    "open_agent": "planwright.graph.building",
    "RunContext": "planwright.domain.run_context",
    "Settings": "planwright.settings.settings",
}

__all__ = ["RunContext", "Settings", "build_graph", "open_agent"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
