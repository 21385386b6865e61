"""What is odd about what a call returned, told beside the result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_NOTES: ContextVar[dict[str, None] | None] = ContextVar("result_notes", default=None)


@contextmanager
def noting() -> Iterator[dict[str, None]]:
    """Gather what is noted of the results of calls that are made here, each sentence once."""
    notes = dict[str, None]()
    token = _NOTES.set(notes)
    try:
        yield notes
    finally:
        _NOTES.reset(token)


def add_note(text: str) -> None:
    """Note something of a result, where somebody gathers that."""
    notes = _NOTES.get()
    if notes is not None:
        notes[text] = None
