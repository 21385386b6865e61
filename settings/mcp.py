"""The settings of MCP servers: which of their tools are used, and how much care a call needs."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from planwright.domain.risk import Effect, Mode, Risk


class McpTool(BaseModel):
    """What the user says of one tool, whatever its server claims."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    mode: Mode | None = None
    risk: Risk | None = None
    effect: Effect | None = None


class McpServer(BaseModel):
    """One server of `.mcp.json`; `mode` holds for all its tools, `allow` and `deny` are names or globs."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    enabled: bool = True
    required: bool = False
    mode: Mode | None = None
    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()
    start_timeout_s: float = Field(30, gt=0)
    call_timeout_s: float | None = Field(None, gt=0)
    tools: dict[str, McpTool] = {}
