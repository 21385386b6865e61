"""Capabilities of a user's own, of every risk, and tools from LangChain: each call writes a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from langchain_core.tools import BaseTool, tool

from benchmarks.consent_world import tool_log
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability


def own_capabilities(workspace: Path) -> list[Capability]:
    """Declare one capability of each risk; the receiver is a file beside the workspace."""

    def log(tool_name: str, **args: Any) -> str:
        with tool_log(workspace).open("a", encoding="utf-8") as file:
            file.write(json.dumps([tool_name, args]) + "\n")
        return "done"

    @capability("bell.ring", mode="local_write", risk="Low", effect="blind", tags=("bell", "ring"))
    def ring(times: int) -> str:
        """Ring the bell of the reception desk."""
        return log("bell.ring", times=times)

    @capability(
        "lights.set", mode="local_write", risk="Medium", effect="idempotent", tags=("light", "set", "switch")
    )
    def lights(hall: str, level: int) -> str:
        """Set the lights of a hall."""
        return log("lights.set", hall=hall, level=level)

    @capability(
        "orders.place", mode="local_write", risk="High", effect="idempotent", tags=("order", "place", "buy")
    )
    def order(item: str, count: int) -> str:
        """Place an order with the supplier."""
        return log("orders.place", item=item, count=count)

    @capability("vault.open", mode="destructive", effect="blind", tags=("vault", "open"))
    def vault(door: str) -> str:
        """Open a door of the vault for good."""
        return log("vault.open", door=door)

    return [ring, lights, order, vault]


def own_tools(workspace: Path) -> list[BaseTool]:
    """Wrap two LangChain tools: one that says what it does, and one that says nothing."""

    def log(tool_name: str, **args: Any) -> str:
        with tool_log(workspace).open("a", encoding="utf-8") as file:
            file.write(json.dumps([tool_name, args]) + "\n")
        return "done"

    @tool
    def print_badge(name: str) -> str:
        """Print a badge for a visitor."""
        return log("print_badge", name=name)

    @tool
    def unlock_gate(gate: str) -> str:
        """Unlock a gate of the yard."""
        return log("unlock_gate", gate=gate)

    print_badge.metadata = {"mode": "local_write", "risk": "Medium", "effect": "blind"}
    return [print_badge, unlock_gate]
