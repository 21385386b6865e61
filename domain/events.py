"""The event envelope, the same on the custom stream, in the journal and over the wire."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue
from typing_extensions import TypedDict

EventType = Literal[
    "run_start",
    "user_message",
    "agent_message",
    "answer_value",
    "planning_decision",
    "plan_created",
    "plan_repaired",
    "plan_verified",
    "approval_requested",
    "approval_given",
    "approval_resolved",
    "plan_edited",
    "plan_start",
    "model_routed",
    "plan_step_start",
    "plan_step_complete",
    "plan_step_failed",
    "plan_step_retry",
    "plan_step_skipped",
    "effect_kept",
    "decision_taken",
    "versions_changed",
    "plan_complete",
    "plan_failed",
    "plan_cancelled",
    "effect_lookup",
    "step_scored",
    "verdict",
    "tool_call_start",
    "tool_call_end",
    "context_compacted",
    "thinking",
    "llm_call",
    "structured_output",
    "failover",
    "provider_data_dropped",
    "loop_guard",
    "progress",
    "memory_proposed",
    "memory_accepted",
    "memory_failed",
    "budget_update",
    "task_queued",
    "task_started",
    "task_completed",
    "task_failed",
    "session_paused",
    "session_resumed",
    "session_extended",
    "session_progress",
    "checkpoint",
    "run_end",
]


class Event(TypedDict):
    """One thing that happened: `seq` counts up within a run, `ts` is UTC in ISO 8601."""

    v: int
    """Version of the envelope; 1 so far."""
    seq: int
    """Number of the event within its run, counted from 1."""
    ts: str
    """When it was sent: UTC, in ISO 8601, to the millisecond."""
    run_id: str
    """Id of the run that sent it."""
    thread_id: str
    """Id of the thread of that run."""
    type: EventType
    """What kind of event it is."""
    data: dict[str, JsonValue]
    """What the event tells, by its type; known secrets are hidden."""
