"""The state of one call of a chain, while its parts are called one after another."""

from __future__ import annotations

from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, JsonValue
from typing_extensions import TypedDict

from planwright.domain.results import StepResult
from planwright.domain.risk import Risk
from planwright.domain.verified_step import VerifiedStep
from planwright.state.loop_budget import LoopBudget


class ChainTask(BaseModel):
    """One call of a chain, with the arguments it is called with.

    `plan_hash` is that of the plan, or the calls, it is on record in; `gate_id` its own gate, if it has
    one; `plan_gate` that of its plan. `ask_from` is the lowest risk from which its parts ask, None for none.
    """

    model_config = ConfigDict(frozen=True)
    checked: VerifiedStep
    """The call of the chain, as a verified step."""
    plan_hash: str
    """Hash of the plan, or of the calls, in which the call is on record."""
    args: dict[str, JsonValue]
    """Arguments of the call, with all references resolved."""
    gate_id: str = ""
    """Id of the gate of this call; "" where it has none of its own."""
    plan_gate: str = ""
    """Id of the gate of its plan; "" where no person had to approve that."""
    ask_from: Risk | None = None
    """Lowest risk from which its parts ask a person; None where the threshold asks for none."""
    budgets: tuple[LoopBudget, ...] = ()
    """Limits of the lanes that it is called in, from the outermost."""


class ChainGraphInput(TypedDict):
    """What opens a chain."""

    task: ChainTask
    """The call of the chain."""


class ChainOutput(TypedDict, total=False):
    """What a chain returns."""

    result: StepResult
    """How the call of the chain ended."""


class ChainState(TypedDict, total=False):
    """The call, the open gate of one of its parts, and the result at the end."""

    task: ChainTask
    """The call of the chain."""
    gate_id: str
    """Id of the open gate of one of its parts."""
    result: StepResult
    """How the call of the chain ended; it stands there only at the end."""


ChainUpdate: TypeAlias = ChainState  # what a node changes: every key may be left out
