"""Our own records of a workspace: everything but LangGraph's checkpoints.

Reading them needs neither langgraph nor langchain, so `planwright ls` and `show` are quick.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planwright.checkpoints.blobs import Blobs
from planwright.checkpoints.budgets import Budgets
from planwright.checkpoints.chains import CreatedChains
from planwright.checkpoints.consent.allow_rules import AllowRules
from planwright.checkpoints.consent.delegations import Delegations
from planwright.checkpoints.consent.gates import Gates
from planwright.checkpoints.database import Boundary, Database
from planwright.checkpoints.effects.alternatives import Alternatives
from planwright.checkpoints.effects.doubts import Doubts
from planwright.checkpoints.effects.file_versions import FileVersions
from planwright.checkpoints.effects.ledger import Ledger
from planwright.checkpoints.effects.refusals import Refusals
from planwright.checkpoints.effects.undos import Undos
from planwright.checkpoints.effects.work_records import WorkRecords
from planwright.checkpoints.forks import Forks
from planwright.checkpoints.journal import Journal
from planwright.checkpoints.memories import Memories
from planwright.checkpoints.memory_proposals import Proposals
from planwright.checkpoints.migrations import MIGRATIONS
from planwright.checkpoints.ownership.leases import Leases
from planwright.checkpoints.ownership.own_parts import OwnParts
from planwright.checkpoints.ownership.owners import Owners, folder_of
from planwright.checkpoints.ownership.work_times import WorkTimes
from planwright.checkpoints.plans import Plans
from planwright.checkpoints.postgres.server import server_of
from planwright.checkpoints.runs import Runs
from planwright.checkpoints.verdicts import Verdicts
from planwright.checkpoints.whole_results import WholeResults
from planwright.domain.clock import Timer, boot_id
from planwright.security.redaction.redactor import Redactor


@dataclass(frozen=True)
class Records:
    """Where a workspace keeps what must survive. Nothing is opened before it is used."""

    database: Database
    """The database that the tables are in."""
    runs: Runs
    """Runs and the titles of threads."""
    leases: Leases
    """Who works on which run."""
    plans: Plans
    """Verified plans and calls."""
    forks: Forks
    """Where forks come from."""
    undos: Undos
    """What undoings made of effects."""
    gates: Gates
    """Decisions that people were asked for."""
    refusals: Refusals
    """Calls that were not made because a person said no."""
    ledger: Ledger
    """Effects and how steps ended."""
    doubts: Doubts
    """Effects of which nobody knows whether they happened."""
    journal: Journal
    """Events of all runs."""
    budgets: Budgets
    """Reservations and what was used."""
    memories: Memories
    """What tenants had remembered."""
    proposals: Proposals
    """Memories that runs proposed."""
    blobs: Blobs
    """Large contents, named by their hash."""
    allow_rules: AllowRules
    """Rules that people gave with an approval."""
    delegations: Delegations
    """What people have delegated."""
    alternatives: Alternatives
    """Calls that were tried instead of others."""
    whole_results: WholeResults
    """Results in full of which models saw a part."""
    file_versions: FileVersions
    """What files held before calls replaced it."""
    work_times: WorkTimes
    """When runs were worked on."""
    work: WorkRecords
    """Calls and effects of a run, and on whose word."""
    verdicts: Verdicts
    """Rulings of the critic."""
    chains: CreatedChains
    """Chains that runs made."""
    own_parts: OwnParts
    """Parts given in code that a run needs."""

    def close(self) -> None:
        """Finish what is being written and close the file."""
        self.leases.close()
        self.database.close()


def open_records(
    folder: Path,
    *,
    busy_timeout_s: float = 30,
    boundary: Boundary | None = None,
    redactor: Redactor | None = None,
    timer: Timer | None = None,
    url: str = "",
    kind: Callable[..., Database] = Database,
) -> Records:
    """Put the records of a storage folder together; without a timer, that of the machine serves.

    With the URL of a PostgreSQL database they are kept there, and the time is that of its server.
    """
    options: dict[str, Any] = {"busy_timeout_s": busy_timeout_s, "boundary": boundary, "redactor": redactor}
    parts = _in_server(url, folder, kind, options) if url else _in_folder(folder, kind, options)
    database, blobs, leases, shared = parts
    if timer is None or timer.boot:  # not the clock of a test
        timer = shared
    return Records(
        database=database,
        runs=Runs(database),
        leases=leases,
        plans=Plans(database),
        forks=Forks(database),
        undos=Undos(database),
        gates=Gates(database, timer),
        refusals=Refusals(database),
        ledger=Ledger(database),
        doubts=Doubts(database),
        journal=Journal(database),
        budgets=Budgets(database),
        memories=Memories(database),
        proposals=Proposals(database),
        blobs=blobs,
        allow_rules=AllowRules(folder),
        delegations=Delegations(folder),
        alternatives=Alternatives(database),
        whole_results=WholeResults(database, blobs),
        file_versions=FileVersions(database, blobs),
        work_times=WorkTimes(database),
        work=WorkRecords(database),
        verdicts=Verdicts(database),
        chains=CreatedChains(database),
        own_parts=OwnParts(database),
    )


_Parts = tuple[Database, Blobs, Leases, Timer]


def _in_folder(folder: Path, kind: Callable[..., Database], options: dict[str, Any]) -> _Parts:
    path = folder / "planwright.db"
    database = kind(path, MIGRATIONS, **options)
    leases = Leases(database, Owners(folder_of(path)))
    return database, Blobs(folder / "blobs", options["redactor"]), leases, Timer(boot=boot_id())


def _in_server(url: str, folder: Path, kind: Callable[..., Database], options: dict[str, Any]) -> _Parts:
    server = server_of(url, MIGRATIONS, options["busy_timeout_s"], options["redactor"])
    database = kind(folder / "planwright.db", MIGRATIONS, **options, engine=server.engine)
    seconds = server.owners.seconds
    leases = Leases(database, server.owners, seconds)
    return database, server.blobs(database), leases, Timer(seconds, boot=server.engine.label)
