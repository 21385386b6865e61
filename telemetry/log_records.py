"""Events of runs as records of the standard library's `logging`, each at the logger of its subject."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Protocol, get_args

from planwright.domain.events import Event, EventType
from planwright.telemetry.event_fields import operator_fields

ROOT = "planwright"
ROOMS: Mapping[str, str] = {  # by the first word of an event's type
    "run": "graph",
    "user": "graph",
    "agent": "graph",
    "planning": "planning",
    "plan": "execution",
    "approval": "approvals",
    "model": "models",
    "effect": "capabilities",
    "decision": "execution",
    "versions": "graph",
    "step": "critic",
    "verdict": "critic",
    "tool": "execution",
    "context": "models",
    "thinking": "models",
    "llm": "models",
    "structured": "models",
    "failover": "models",
    "provider": "models",
    "answer": "nodes",
    "loop": "nodes",
    "progress": "nodes",
    "memory": "execution",
    "budget": "models",
    "task": "sessions",
    "session": "sessions",
    "checkpoint": "sessions",
}
PLANNING = ("plan_created", "plan_repaired", "plan_verified", "plan_edited")
DETAILS = (
    *("user_message", "agent_message", "answer_value", "planning_decision", "model_routed"),
    *("step_scored", "progress", "plan_step_start", "tool_call_start"),
)
PROBLEMS = (
    *("plan_step_failed", "plan_step_retry", "plan_failed", "plan_cancelled", "effect_lookup", "failover"),
    *("structured_output", "provider_data_dropped", "loop_guard", "memory_failed", "task_failed"),
)
GOOD_ENDS: Mapping[EventType, tuple[str, str]] = {  # the field that says how it ended, and its good value
    "run_end": ("status", "completed"),
    "plan_verified": ("outcome", "ok"),
    "tool_call_end": ("status", "completed"),
    "verdict": ("verdict", "accept"),
}
_PLAIN = re.compile(r"[\w.:/@+-]+")
_LOGGERS = {
    type_: logging.getLogger(f"{ROOT}.{'planning' if type_ in PLANNING else ROOMS[type_.partition('_')[0]]}")
    for type_ in get_args(EventType)
}


def log_event(event: Event) -> None:
    """Log an event: its type, and ids, names, counts and durations; no argument, prompt or result.

    The record has `event`, `run_id`, `thread_id` and `fields` (the rest) as attributes of their own.
    """
    log, level = _LOGGERS[event["type"]], level_of(event)
    if log.isEnabledFor(level):
        ids, fields = {"run_id": event["run_id"], "thread_id": event["thread_id"]}, operator_fields(event)
        words = " ".join(f"{name}={_format(value)}" for name, value in (ids | fields).items())
        log.log(level, "%s %s", event["type"], words, extra={"event": event["type"], "fields": fields, **ids})


class OfRun(Protocol):
    """What belongs to a run: the run itself, its lease, its invocation."""

    @property
    def run_id(self) -> str:
        """Id of the run."""

    @property
    def thread_id(self) -> str:
        """Id of the thread of that run."""


def ids_of(part: OfRun) -> dict[str, str]:
    """Give a record of a run, which is no event, the same attributes: `extra=ids_of(run)`."""
    return {"run_id": part.run_id, "thread_id": part.thread_id}


def level_of(event: Event) -> int:
    """Say how much an event matters to an operator, as a level of `logging`."""
    type_, data = event["type"], event["data"]
    if type_ in DETAILS:
        return logging.DEBUG
    field, good = GOOD_ENDS.get(type_, ("", ""))
    went_badly = (field and data.get(field) != good) or (type_ == "llm_call" and "error" in data)
    return logging.WARNING if went_badly or type_ in PROBLEMS else logging.INFO


def _format(value: object) -> str:
    """Spell a value so that it stays on its line, and one word."""
    return text if _PLAIN.fullmatch(text := str(value)) else ascii(text)
