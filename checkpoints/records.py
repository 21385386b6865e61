"""Our own records of a workspace: everything but LangGraph's checkpoints.

Reading them needs neither langgraph nor langchain, so `planwright ls` and `show` are quick.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from planwright.checkpoints.blobs import Blobs
from planwright.checkpoints.budgets import Budgets
from planwright.checkpoints.chains import MadeChains
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
from planwright.checkpoints.runs import Runs
from planwright.checkpoints.verdicts import Verdicts
from planwright.checkpoints.whole_results import WholeResults
from planwright.domain.clock import Timer, boot_id
from planwright.security.redaction.redactor import Redactor


@dataclass(frozen=True)
class Records:
    """Where a workspace keeps what must survive. Nothing is opened before it is used."""

    database: Database
    runs: Runs
    leases: Leases
    plans: Plans
    forks: Forks
    undos: Undos
    gates: Gates
    refusals: Refusals
    ledger: Ledger
    doubts: Doubts
    journal: Journal
    budgets: Budgets
    memories: Memories
    proposals: Proposals
    blobs: Blobs
    allow_rules: AllowRules
    delegations: Delegations
    alternatives: Alternatives
    whole_results: WholeResults
    file_versions: FileVersions
    work_times: WorkTimes
    work: WorkRecords
    verdicts: Verdicts
    chains: MadeChains
    own_parts: OwnParts

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
    kind: Callable[..., Database] = Database,
) -> Records:
    """Put the records of a storage folder together; without a timer, that of the machine serves."""
    path = folder / "planwright.db"
    database = kind(path, MIGRATIONS, busy_timeout_s=busy_timeout_s, boundary=boundary, redactor=redactor)
    blobs, owners = Blobs(folder / "blobs", redactor), Owners(folder_of(path))
    return Records(
        database=database,
        runs=Runs(database),
        leases=Leases(database, owners),
        plans=Plans(database),
        forks=Forks(database),
        undos=Undos(database),
        gates=Gates(database, timer or Timer(boot=boot_id())),
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
        chains=MadeChains(database),
        own_parts=OwnParts(database),
    )
