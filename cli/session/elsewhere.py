"""What a question at a terminal is answered with: a line that is typed, or what somebody says elsewhere."""

from __future__ import annotations

import select
import sys
from collections.abc import Callable
from contextlib import suppress

from planwright.cli.session.terminal import Terminal
from planwright.cli.views import rendering as views
from planwright.domain.errors import PlanwrightError, StoreFailed
from planwright.graph.agent import Agent

LOOK_S = 1.0
"""Seconds between two looks at a gate while nothing is typed."""
Decided = Callable[[], str]
"""Says how a gate was decided meanwhile, and by whom; "" while it is open."""


class DecidedElsewhere(PlanwrightError):
    """Somebody has decided the gate that the terminal asks about; the cause says how."""


def decision_on(agent: Agent, gate_id: str) -> Decided:
    """Make a look at a gate."""

    def decided() -> str:
        with suppress(StoreFailed):  # the next look may find the store back
            gate = agent.loop.call(lambda: agent.stores.gates.read(gate_id))
            by = f" by {gate.decided_by} via {gate.channel}" if gate.decided_by else ""
            return "" if gate.status == "open" else f"{gate.status}{by}"
        return ""

    return decided


def read_line(decided: Decided) -> str:
    """Read a line that is typed. Raises DecidedElsewhere where the gate is decided before, and EOFError."""
    while not select.select([sys.stdin], [], [], LOOK_S)[0]:
        if how := decided():
            raise DecidedElsewhere(how, "see what comes of it: planwright show last")
    return input().strip()


def wait_until_free(agent: Agent, thread: str, terminal: Terminal) -> None:
    """Wait for whoever works on a run whose gate was decided elsewhere; its next question is asked here."""
    stores, printed = agent.stores, False
    while not agent.loop.call(lambda: stores.leases.wait_until_free(lambda: stores.runs.latest(thread)))[1]:
        if not printed:
            terminal.screen.print(views.label("watch", f"it goes on there: planwright events {thread}"))
        printed = True
