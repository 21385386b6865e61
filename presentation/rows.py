"""What views read: rows of the store, and the cards and events that it keeps as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import TypedDict

from planwright.domain.results import RunStatus

JsonMapping = Mapping[str, Any]
"""Something with names, as JSON holds it; the words below say what of."""
Card = JsonMapping
"""All that a gate shows, or one step, call or effect of it; its kind says which fields there are."""
RunEvent = JsonMapping
"""One event of a run: `seq`, `ts`, `type`, and the `data` that it tells."""
EventData = JsonMapping
"""What an event tells; its type says which fields there are."""
Report = JsonMapping
"""All that is recorded of a run, or one part of it, as `--json` prints it."""
GateRow = JsonMapping
"""One gate, by the columns of its table."""
JsonObject = dict[str, object]
"""What a command prints or sends as JSON."""


class RunRow(TypedDict):
    """One run, as its row says."""

    run_id: str
    """Id of the run."""
    thread_id: str
    """Thread that it is on."""
    tenant: str
    """Tenant that it belongs to."""
    status: RunStatus
    """How it stands."""
    context: str
    """Options that it began with, as JSON."""
    answer: str | None
    """Its answer; None while it has none."""


class QuestionRow(TypedDict):
    """One run that has ended with a question."""

    run_id: str
    """Id of the run."""
    thread_id: str
    """Thread that an answer goes to."""
    context: str
    """Options that the run began with, as JSON."""
