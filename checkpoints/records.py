"""Our own records of a workspace: everything but LangGraph's checkpoints.

Reading them needs neither langgraph nor langchain, so `planwright ls` and `show` are quick.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from typing_extensions import TypedDict

from planwright.checkpoints.blobs import Blobs
from planwright.checkpoints.budgets import Budgets
from planwright.checkpoints.chains import CreatedChains
from planwright.checkpoints.consent.allow_rules import AllowRules
from planwright.checkpoints.consent.delegations import Delegations
from planwright.checkpoints.consent.gates import Gates
from planwright.checkpoints.consent.tool_answers import ToolAnswers
from planwright.checkpoints.database import Boundary, Database
from planwright.checkpoints.effects.alternatives import Alternatives
from planwright.checkpoints.effects.doubts import Doubts
from planwright.checkpoints.effects.file_versions import FileVersions
from planwright.checkpoints.effects.late_calls import LateCalls
from planwright.checkpoints.effects.ledger import Ledger
from planwright.checkpoints.effects.refusals import Refusals
from planwright.checkpoints.effects.undos import Undos
from planwright.checkpoints.effects.work_records import WorkRecords
from planwright.checkpoints.engines.engine import Engine
from planwright.checkpoints.forks import Forks
from planwright.checkpoints.journal import Journal
from planwright.checkpoints.marks.mark import Mark
from planwright.checkpoints.memories import Memories
from planwright.checkpoints.memory_proposals import Proposals
from planwright.checkpoints.migrations import MIGRATIONS
from planwright.checkpoints.ownership.leases import Leases
from planwright.checkpoints.ownership.own_parts import OwnParts
from planwright.checkpoints.ownership.owners import OwnerLocks, Owners, folder_of
from planwright.checkpoints.ownership.store_time import StoreTime
from planwright.checkpoints.ownership.work_times import WorkTimes
from planwright.checkpoints.plans import Plans
from planwright.checkpoints.postgres.server import server_of
from planwright.checkpoints.runs import Runs
from planwright.checkpoints.sessions.queue import Queue
from planwright.checkpoints.sessions.schedule_runs import ScheduleRuns
from planwright.checkpoints.sessions.sessions import Sessions
from planwright.checkpoints.sessions.workers import Workers
from planwright.checkpoints.verdicts import Verdicts
from planwright.checkpoints.whole_results import WholeResults
from planwright.domain.clock import Clock, Timer, timer_of, utc_now
from planwright.security.redaction.redactor import Redactor

PATIENCE_S = 30.0


@dataclass(frozen=True)
class Records:
    """Where a workspace keeps what must survive. Nothing is opened before it is used."""

    database: Database
    """The database that the tables are in."""
    mark: Mark
    """How far it has come, outside of it."""
    time: StoreTime
    """What time it is for the store."""
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
    late_calls: LateCalls
    """Calls of this process that were late and still run."""
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
    tool_answers: ToolAnswers
    """What people have said that tools may do."""
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
    queue: Queue
    """Runs that workers take up."""
    sessions: Sessions
    """What operators ask of runs."""
    workers: Workers
    """Processes that take runs up."""
    schedule_runs: ScheduleRuns
    """Times at which schedules were due."""

    def close(self) -> None:
        """Finish what is being written and close the file."""
        owns = self.late_calls.are_running
        self.leases.close(still_owner=owns)
        self.database.close()
        if owns and not self.late_calls.are_running:  # the last of them ended meanwhile
            self.leases.disown()


class StoreOptions(TypedDict, total=False):
    """What a store may be opened with."""

    busy_timeout_s: float
    """Seconds to wait for a store that another process has locked; 30 where it is not said."""
    boundary: Boundary | None
    """Told of every commit, before and after it."""
    redactor: Redactor | None
    """Hides known secrets in what is written."""
    clock: Clock
    """Tells the time of day; that of the machine, or of the server, where it is not said."""
    timer: Timer | None
    """Tells how time goes by; that which goes with the clock, where it is not said."""
    url: str
    """The PostgreSQL database that all is kept in; "" for the folder."""
    kind: Callable[..., Database]
    """Makes the database; a simulation makes its own."""


def open_records(folder: Path, **options: Unpack[StoreOptions]) -> Records:
    """Put the records of a storage folder together, or those in PostgreSQL, whose time is its server's."""
    parts = (_in_server if options.get("url") else _in_folder)(folder, options)
    database, mark, time, blobs, owners, leases = parts
    return Records(
        database=database,
        mark=mark,
        time=time,
        runs=Runs(database),
        leases=leases,
        plans=Plans(database),
        forks=Forks(database),
        undos=Undos(database),
        gates=Gates(database, time),
        refusals=Refusals(database),
        ledger=Ledger(database),
        late_calls=LateCalls(database, leases.disown),
        doubts=Doubts(database),
        journal=Journal(database),
        budgets=Budgets(database),
        memories=Memories(database),
        proposals=Proposals(database),
        blobs=blobs,
        allow_rules=AllowRules(folder),
        tool_answers=ToolAnswers(folder),
        delegations=Delegations(folder, time),
        alternatives=Alternatives(database),
        whole_results=WholeResults(database, blobs),
        file_versions=FileVersions(database, blobs),
        work_times=WorkTimes(database),
        work=WorkRecords(database),
        verdicts=Verdicts(database),
        chains=CreatedChains(database),
        own_parts=OwnParts(database),
        queue=Queue(database, time),
        sessions=Sessions(database, leases, time),
        workers=Workers(database, owners),
        schedule_runs=ScheduleRuns(database, time),
    )


_Parts = tuple[Database, Mark, StoreTime, Blobs, OwnerLocks, Leases]


def _in_folder(folder: Path, options: StoreOptions) -> _Parts:
    path, redactor = folder / "planwright.db", options.get("redactor")
    database = _database(path, options, None, mark := Mark(folder_of(path)))
    blobs, owners = Blobs(folder / "blobs", redactor), Owners(folder_of(path))
    return database, mark, _time(database, options), blobs, owners, Leases(database, owners)


def _in_server(folder: Path, options: StoreOptions) -> _Parts:
    patience_s, redactor = options.get("busy_timeout_s", PATIENCE_S), options.get("redactor")
    server = server_of(options.get("url", ""), MIGRATIONS, patience_s, redactor)
    path, mark = folder / "planwright.db", server.mark(folder)
    database = _database(path, options, server.engine, mark)
    time = _time(database, options)
    leases = Leases(database, server.owners, time.counted_s)
    return database, mark, time, server.blobs(database), server.owners, leases


def _time(database: Database, options: StoreOptions) -> StoreTime:
    clock = options.get("clock", utc_now)
    return StoreTime(database, clock, options.get("timer") or timer_of(clock))


def _database(path: Path, options: StoreOptions, engine: Engine | None, mark: Mark) -> Database:
    database = options.get("kind", Database)(
        path,
        MIGRATIONS,
        busy_timeout_s=options.get("busy_timeout_s", PATIENCE_S),
        boundary=options.get("boundary"),
        redactor=options.get("redactor"),
        engine=engine,
    )
    database.mark = mark
    return database
