"""What a person has to approve before it happens, and for how long a terminal waits for the answer."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from planwright.domain.risk import Risk

PlanApproval = Literal["risk", "always", "never"]


class ApprovalSettings(BaseModel):
    """One threshold for every call, wherever it comes from.

    `risk` is the lowest risk that asks a person; `plan_risk` takes its place for the steps of a plan,
    `tool_risk` for the calls of a model. `plan` says when a whole plan is put before a person, `depth`
    whether approving it opens the gates of its steps. The timeouts are seconds that a terminal waits.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    plan: PlanApproval = "risk"
    """When a whole plan is put before a person."""
    order: Literal["reads_first", "plan_first"] = "reads_first"
    """Whether reads that ask nobody run before the plan is shown, so that its card has their values."""
    depth: Literal["plan", "plan_and_gates"] = "plan_and_gates"
    """Whether approving a plan opens the gates of its steps that it shows with all values, too."""
    risk: Risk = "Medium"
    """Lowest risk from which a person is asked."""
    plan_risk: Risk | None = None
    """The same for the steps of a plan; None for `risk`."""
    tool_risk: Risk | None = None
    """The same for the calls of a model; None for `risk`."""
    plan_timeout_s: int = Field(600, ge=1)
    """Seconds that gates of a run stay open where a person sits at the terminal."""
    tool_timeout_s: int = Field(300, ge=1)
    """The same for the gate of one call, where that is less."""

    @property
    def reads_first(self) -> bool:
        """Whether what only reads runs before a person is asked about the rest of a plan."""
        return self.order == "reads_first" and self.plan == "risk"

    @property
    def of_plan(self) -> Risk | None:
        """The lowest risk from which a step of a plan asks; None where plans ask nobody."""
        return None if self.plan == "never" else self.plan_risk or self.risk

    @property
    def of_tool(self) -> Risk:
        """The lowest risk from which a model's call asks."""
        return self.tool_risk or self.risk

    def threshold_of(self, kind: str) -> Risk | None:
        """Say from which risk a call asks by the kind of plan it stands in; parts of a chain ask as that."""
        return self.of_plan if kind in ("plan", "alternative") else self.of_tool
