"""Records and checkpoints of one workspace, in one file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from planwright.checkpoints.saver import Saver
from planwright.records.records import Records, StoreOptions, open_records


@dataclass(frozen=True)
class Stores(Records):
    """The records, and LangGraph's saver beside them."""

    saver: Saver
    """Writes and reads the checkpoints of LangGraph."""


def open_stores(folder: Path, **options: Unpack[StoreOptions]) -> Stores:
    """Put the stores of a folder together; what they write goes through the redactor."""
    records = open_records(folder, **options)
    return Stores(**vars(records), saver=Saver(records.database))
