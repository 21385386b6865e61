"""An invocation without a run: what it tells is heard."""

from __future__ import annotations

from planwright.domain.events import Event
from planwright.domain.lease import Lease
from planwright.domain.run_context import RunContext
from planwright.security.redaction.redactor import Redactor
from planwright.settings.profile import in_force
from planwright.settings.settings import Settings
from planwright.state.invocation import Invocation
from planwright.state.step_board import StepBoard


def heard(redactor: Redactor | None = None) -> tuple[Invocation, list[Event]]:
    """Make an invocation, and the list of events that it fills."""
    events: list[Event] = []
    context = RunContext()
    invocation = Invocation(
        Lease("default", "thread", "run_1", 1),
        context,
        in_force(Settings(), context),
        StepBoard([], 1),
        lambda event, key: events.append(event),
        redactor=redactor or Redactor(),
        writer=lambda event: None,
    )
    return invocation, events
