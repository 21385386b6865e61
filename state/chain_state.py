"""The state of one call of a chain, while its parts are called one after another."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, JsonValue
from typing_extensions import TypedDict

from planwright.domain.plan import CheckedStep
from planwright.domain.results import StepResult
from planwright.domain.risk import Risk
from planwright.state.lane_budget import LaneBudget


class ChainTask(BaseModel):
    """One call of a chain, with the arguments it is called with.

    `plan_hash` is that of the plan, or the calls, it is on record in; `gate_id` its own gate, if it has
    one; `plan_gate` that of its plan. `ask_from` is the lowest risk from which its parts ask, None for none.
    """

    model_config = ConfigDict(frozen=True)
    checked: CheckedStep
    plan_hash: str
    args: dict[str, JsonValue]
    gate_id: str = ""
    plan_gate: str = ""
    ask_from: Risk | None = None
    budgets: tuple[LaneBudget, ...] = ()


class ChainInput(TypedDict):
    """What opens a chain."""

    task: ChainTask


class ChainOutput(TypedDict, total=False):
    """What a chain returns."""

    result: StepResult


class ChainState(TypedDict, total=False):
    """The call, the open gate of one of its parts, and the result at the end."""

    task: ChainTask
    gate_id: str
    result: StepResult
