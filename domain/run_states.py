"""The states of a run, and which may follow which: every other step is an error.

They are those of a durable session: `running` is in progress, `waiting` stands at a gate, and a run that is
`queued` is begun, or gone on with, by a worker.
"""

from __future__ import annotations

from collections.abc import Mapping

from planwright.domain.errors import RunError
from planwright.domain.results import TERMINAL, RunStatus

NEXT: Mapping[RunStatus, frozenset[RunStatus]] = {
    "queued": frozenset(("running", "paused", "cancelled", "expired")),
    "running": frozenset(("waiting", "paused", "queued")) | TERMINAL,
    "waiting": frozenset(("running", "rejected", "expired", "cancelled")),
    "paused": frozenset(("running", "queued", "cancelled", "expired")),
}
"""The states after each; none comes after one that ends a run. What a run is, it may stay."""


def check_step(run_id: str, before: RunStatus, after: RunStatus) -> None:
    """Raise RunError where a run may not become what it is to become."""
    if after != before and after not in NEXT.get(before, frozenset()):
        raise RunError(
            f"run {run_id} is {before}, and nothing that is {before} becomes {after}",
            f"see how it stands: planwright show {run_id}",
        )
