"""Wait at a terminal for a provider that is away: visibly, and only as long as somebody wants to."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from planwright.cli.session.terminal import Terminal
from planwright.cli.views import rendering as views
from planwright.presentation.rows import RunRow
from planwright.records.queue.queue import PROVIDER

FIRST_S, LONGEST_S = 2.0, 60.0


def waits() -> Iterator[float]:
    """Say how many seconds to wait before each try: two, then twice as long, up to a minute."""
    seconds = FIRST_S
    while True:
        yield seconds
        seconds = min(2 * seconds, LONGEST_S)


def waited_for_provider(run: RunRow, pauses: Iterator[float], terminal: Terminal) -> bool:
    """Show why a run waits, and until when; say whether it was for its provider, and somebody is there.

    Ctrl-C leaves it paused: KeyboardInterrupt is raised.
    """
    if not terminal.interactive or run["paused_for"] != PROVIDER:
        return False
    ends = time.monotonic() + next(pauses)
    terminal.screen.print(views.label("waiting", f"{run['paused_why']}", "yellow"))
    with terminal.screen.status("") as status:
        while (left := ends - time.monotonic()) > 0:
            status.update(f"next try in {math.ceil(left)} s; Ctrl-C leaves the run paused")
            time.sleep(min(left, 1))
    return True
