"""What the page shows of a session: its state in words, how far it is, what is left. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planwright.domain.errors import RunError
from planwright.presentation import figures
from planwright.presentation.run_view import State
from planwright.records.extensions import COUNTED, UNITS, Unit
from planwright.records.queue.progress import Progress
from planwright.records.queue.session import Session

FIELDS: Mapping[Unit, str] = {unit: figures.UNIT_WORDS[unit] for unit in UNITS}
"""What can be given more of, in words."""
MOST = 1e12
_STATES: Mapping[str, State] = {
    "in_progress": "running",
    "awaiting_gate": "waiting",
    "paused": "waiting",
    "completed": "done",
    "failed": "failed",
    "queued": "pending",
}


@dataclass(frozen=True)
class SessionView:
    """One session as the page lists it."""

    session: Session
    """The session."""
    progress: Progress
    """How far it is."""
    mark: State
    """Mark that its state is drawn with."""
    left: Sequence[str]
    """What is left of its limits, in words."""

    @property
    def open(self) -> bool:
        """Whether it has not ended."""
        return self.session.ended_at is None


def session_view(session: Session, progress: Progress) -> SessionView:
    """Lay out a session."""
    left = [
        f"{amount:,.10g} {figures.UNIT_WORDS[unit]}"
        for unit, amount in progress.budget_remaining.items()
        if amount is not None
    ]
    return SessionView(session, progress, _STATES.get(session.state, "rejected"), left)


def amounts_of(form: Mapping[str, Sequence[str]]) -> dict[Unit, float]:
    """Read what a form gives a session more of. Raises RunError for nothing, and for what is no amount."""
    texts = {unit: values[0].strip() for unit in UNITS if len(values := form.get(unit, ())) == 1}
    amounts = {unit: _amount(unit, text) for unit, text in texts.items() if text}
    if not any(amounts.values()):
        raise RunError("nothing is given", "say of what it may use more, and how much")
    return {unit: amount for unit, amount in amounts.items() if amount}


def _amount(unit: Unit, text: str) -> float:
    try:
        amount = int(text) if unit in COUNTED else float(text)
    except ValueError:
        amount = -1
    if not 0 <= amount <= MOST:
        raise RunError(f"{text!r} is no amount of {FIELDS[unit]}", "write a number, such as 500")
    return amount
