"""Records and checkpoints of one workspace, in one file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from planwright.checkpoints.database import Boundary, Database
from planwright.checkpoints.records import Records, open_records
from planwright.checkpoints.saver import Saver
from planwright.domain.clock import Timer
from planwright.security.redaction.redactor import Redactor


@dataclass(frozen=True)
class Stores(Records):
    """The records, and LangGraph's saver beside them."""

    saver: Saver
    """Writes and reads the checkpoints of LangGraph."""


def open_stores(
    folder: Path,
    *,
    busy_timeout_s: float = 30,
    boundary: Boundary | None = None,
    redactor: Redactor | None = None,
    timer: Timer | None = None,
    url: str = "",
    kind: Callable[..., Database] = Database,
) -> Stores:
    """Put the stores of a folder together; what they write goes through the redactor."""
    records = open_records(
        folder,
        busy_timeout_s=busy_timeout_s,
        boundary=boundary,
        redactor=redactor,
        timer=timer,
        url=url,
        kind=kind,
    )
    return Stores(**vars(records), saver=Saver(records.database))
