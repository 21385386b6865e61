"""What our types are called in the bytes of a checkpoint: a tag that stays when a class moves or is renamed.

A tag is never given to another type, and never taken away: stores outlive the program that wrote them.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel

from planwright.domain import plan, results, verified_step
from planwright.state import agent_state as state
from planwright.state import chain_state, compaction, loop_state

TAGS: Mapping[str, type[BaseModel]] = {
    "plan": plan.Plan,
    "plan_step": plan.PlanStep,
    "criterion": plan.Criterion,
    "checked_step": verified_step.VerifiedStep,
    "step_result": results.StepResult,
    "step_score": results.StepScore,
    "verdict": results.RunVerdict,
    "finding": results.Finding,
    "route": state.ModelRoute,
    "planning_decision": state.PlanningDecision,
    "task": state.Task,
    "attempts": state.Attempts,
    "compaction": compaction.Compaction,
    "loop_task": loop_state.LoopTask,
    "tool_call": loop_state.ToolCall,
    "call_doubt": loop_state.CallDoubt,
    "loop_outcome": loop_state.LoopOutcome,
    "chain_task": chain_state.ChainTask,
}
TAG_OF: Mapping[type[BaseModel], str] = {kind: tag for tag, kind in TAGS.items()}
