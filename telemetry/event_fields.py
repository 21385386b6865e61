"""Which fields of an event leave the store: ids, names, counts and durations, never what they were about.

Arguments, prompts, results, reasons and error texts stay in the journal: `planwright events THREAD`.
"""

from __future__ import annotations

from collections.abc import Mapping

from planwright.domain.events import Event, EventType

_GATE = ("gate_id", "kind", "plan_hash", "decision", "channel", "expires_at")
_PLAN = ("plan_id", "plan_hash", "revision", "total", "steps", "outcome", "repaired")
_STEP = ("plan_id", "step_id", "capability", "uid", "status", "code", "attempts", "attempt", "seconds")
_CALL = ("lane", "step_id", "capability", "uid", "status", "risk", "seconds")
_MODEL = ("role", "provider", "model")
FIELDS: Mapping[EventType, tuple[str, ...]] = {
    "run_start": ("tenant", "channel", "agent", "forked_from", "undoes"),
    "user_message": (),
    "agent_message": (),
    "answer_value": (),
    "planning_decision": ("mode", "planned", "agentic"),
    "plan_created": _PLAN,
    "plan_repaired": ("try",),
    "plan_verified": _PLAN,
    "approval_requested": _GATE,
    "approval_given": (*_GATE, "given", "of"),
    "approval_resolved": _GATE,
    "plan_edited": ("gate_id", *_PLAN),
    "plan_start": _PLAN,
    "model_routed": ("step_id", "uid", *_MODEL, "why"),
    "plan_step_start": _STEP,
    "plan_step_complete": _STEP,
    "plan_step_failed": _STEP,
    "plan_step_retry": (*_STEP, "idempotency_key"),
    "plan_step_skipped": _STEP,
    "decision_taken": ("decision_id", "version", "outcome"),
    "versions_changed": ("code",),
    "effect_kept": (*_STEP, "idempotency_key", "done_by"),
    "plan_complete": _PLAN,
    "plan_failed": _PLAN,
    "plan_cancelled": _PLAN,
    "effect_lookup": (*_STEP, "outcome", "idempotency_key"),
    "step_scored": ("step_id", "uid", "verdict"),
    "verdict": ("plan_id", "verdict"),
    "tool_call_start": _CALL,
    "tool_call_end": _CALL,
    "context_compacted": ("by", "left_out", "tokens_before", "tokens_after"),
    "thinking": (*_MODEL, "seconds"),
    "llm_call": (
        *_MODEL,
        "input_tokens",
        "output_tokens",
        "cached_tokens",
        "thought_tokens",
        "cost",
        "seconds",
    ),
    "structured_output": (*_MODEL, "refused", "next"),
    "failover": (*_MODEL, "key", "failure", "move", "wait_s", "next"),
    "provider_data_dropped": ("provider", "model"),
    "loop_guard": ("lane", "pattern", "severity", "times"),
    "progress": ("lane", "turn", "of"),
    "memory_proposed": ("id",),
    "memory_accepted": ("id",),
    "memory_failed": ("id",),
    "budget_update": ("limit", "unit", "used", "of", "percent", "tokens", "calls", "cost", "model_calls"),
    "task_queued": ("schedule",),
    "task_started": ("channel",),
    "task_completed": ("status",),
    "task_failed": ("status",),
    "session_paused": (),
    "session_resumed": (),
    "session_extended": (),
    "session_progress": ("progress_id", "current_step", "completed", "total", "awaiting_gate"),
    "checkpoint": ("hash", "verdict", "next_step"),
    "run_end": ("status",),
}


def operator_fields(event: Event) -> dict[str, str | int | float | bool]:
    """Pick what an operator may see of an event; fields without a value are left out."""
    data = event["data"]
    picked = {name: data.get(name) for name in FIELDS[event["type"]]}
    return {
        name: value for name, value in picked.items() if isinstance(value, str | int | float) and value != ""
    }
