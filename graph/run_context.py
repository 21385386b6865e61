"""Options of one run, sent along with a request. JSON-friendly, because Studio sends it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

MOST_TTL_S = 10 * 365 * 86400  # a gate that never closes is a mistake
PlanningMode = Literal["auto", "llm_decides", "always", "never"]


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """What a caller may set for one run; everything else is in `planwright.toml`."""

    planning_mode: PlanningMode | None = field(
        default=None, metadata={"description": "When to plan; unset = the setting planning.mode."}
    )
    dry_run: bool = field(default=False, metadata={"description": "Plan and verify, and run nothing."})
    tenant: str = field(default="default", metadata={"description": "Whose ledger, budgets and memory."})
    channel: str = field(default="python", metadata={"description": "The door the request came through."})
    provider: str | None = field(
        default=None, metadata={"description": "The provider to use, by its name in the settings."}
    )
    gate_ttl_s: Annotated[int, Field(gt=0, le=MOST_TTL_S)] | None = field(
        default=None, metadata={"description": "How long a gate stays open; unset = sessions.gate_ttl_s."}
    )
