"""The settings of MCP servers: which of their tools are used, and how much care a call needs."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from planwright.domain.risk import Effect, Mode, Risk


class McpToolSettings(BaseModel):
    """What the user says of one tool, whatever its server claims."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    mode: Mode | None = None
    """Mode that the tool gets; None for that of its server or its claims."""
    risk: Risk | None = None
    """Risk that the tool gets; None for that of its mode."""
    effect: Effect | None = None
    """Effect class that the tool gets; None for that of its claims."""


class McpServerSettings(BaseModel):
    """One server of `.mcp.json`; `mode` holds for all its tools, `allow` and `deny` are names or globs."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    enabled: bool = True
    """Whether the server is started at all."""
    required: bool = False
    """Whether an agent refuses to start while the server is not ready."""
    mode: Mode | None = None
    """Mode of all its tools; None for what each claims."""
    allow: tuple[str, ...] = ("*",)
    """Tools that are taken over, by name or glob."""
    deny: tuple[str, ...] = ()
    """Tools that are left out, by name or glob, whatever `allow` says."""
    start_timeout_s: float = Field(30, gt=0)
    """Seconds that the server has to start and list its tools."""
    call_timeout_s: float | None = Field(None, gt=0)
    """Seconds that a call of its tools may take; None for that of all steps."""
    tools: dict[str, McpToolSettings] = {}
    """What the user says of single tools, by the names the server calls them."""
