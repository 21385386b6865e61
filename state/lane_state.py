"""The state of a lane: one gated or agentic step. It shares only `results` with the outer state."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from typing_extensions import TypedDict

from planwright.domain.results import StepResult
from planwright.state.agent_state import StepTask, merge_results


class LaneInput(TypedDict):
    """What `dispatch` sends to a lane."""

    step_task: StepTask
    """The step, with its plan and all it waits for."""


class LaneState(TypedDict, total=False):
    """The step, its gate once it is open, and its result at the end."""

    step_task: StepTask
    """The step, with its plan and all it waits for."""
    gate_id: str
    """Id of the gate of the step; it stands there once the gate is open."""
    waits: bool
    """Whether the gate is one that the step has to pass before it begins; set by `named_gate`."""
    approach: str
    """How a step that is run again may be done instead; set by `another_approach`."""
    results: Annotated[dict[str, StepResult], merge_results]
    """The result of this one step, by its uid."""


LaneUpdate: TypeAlias = LaneState  # what a node changes: every key may be left out


class LaneOutput(TypedDict, total=False):
    """What a lane returns to the plan."""

    results: Annotated[dict[str, StepResult], merge_results]
    """The result of this one step, by its uid."""
