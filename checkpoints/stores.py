"""All stores of one workspace, opened together and closed together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from planwright.checkpoints.blobs import Blobs
from planwright.checkpoints.budgets import Budgets
from planwright.checkpoints.database import Boundary, Database
from planwright.checkpoints.gates import Gates
from planwright.checkpoints.journal import Journal
from planwright.checkpoints.ledger import Ledger
from planwright.checkpoints.memory import Memories
from planwright.checkpoints.migrations import CHECKPOINT_MIGRATIONS, MIGRATIONS
from planwright.checkpoints.runs import Runs
from planwright.checkpoints.saver import Saver


@dataclass(frozen=True)
class Stores:
    """Where a workspace keeps what must survive. Nothing is opened before it is used."""

    database: Database
    saver: Saver
    runs: Runs
    gates: Gates
    ledger: Ledger
    journal: Journal
    budgets: Budgets
    memories: Memories
    blobs: Blobs

    def close(self) -> None:
        """Finish what is being written and close both files."""
        self.database.close()
        self.saver.database.close()


def open_stores(folder: Path, *, busy_timeout_s: float = 30, boundary: Boundary | None = None) -> Stores:
    """Put the stores of a folder together."""
    database = Database(
        folder / "planwright.db", MIGRATIONS, busy_timeout_s=busy_timeout_s, boundary=boundary
    )
    checkpoints = Database(
        folder / "checkpoints.db", CHECKPOINT_MIGRATIONS, busy_timeout_s=busy_timeout_s, boundary=boundary
    )
    return Stores(
        database=database,
        saver=Saver(checkpoints),
        runs=Runs(database),
        gates=Gates(database),
        ledger=Ledger(database),
        journal=Journal(database),
        budgets=Budgets(database),
        memories=Memories(database),
        blobs=Blobs(folder / "blobs"),
    )
