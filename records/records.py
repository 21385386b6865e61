"""Our own records of a workspace: everything but LangGraph's checkpoints.

Reading them needs neither langgraph nor langchain, so `planwright ls` and `show` are quick.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from typing_extensions import TypedDict

from planwright.domain.clock import Clock, Timer, timer_of, utc_now
from planwright.records.budgets import Budgets
from planwright.records.chains import CreatedChains
from planwright.records.consent.allow_rules import AllowRules
from planwright.records.consent.answer_links import AnswerLinks
from planwright.records.consent.delegations import Delegations
from planwright.records.consent.gates import Gates
from planwright.records.consent.rule_uses import RuleUses
from planwright.records.consent.tool_answers import ToolAnswers
from planwright.records.effects.alternatives import Alternatives
from planwright.records.effects.doubts import Doubts
from planwright.records.effects.file_versions import FileVersions
from planwright.records.effects.late_calls import LateCalls
from planwright.records.effects.ledger import Ledger
from planwright.records.effects.refusals import Refusals
from planwright.records.effects.undos import Undos
from planwright.records.effects.work_records import WorkRecords
from planwright.records.forks import Forks
from planwright.records.journal import Journal
from planwright.records.memories import Memories
from planwright.records.memory_proposals import Proposals
from planwright.records.notices import Notices
from planwright.records.ownership.leases import Leases
from planwright.records.ownership.own_parts import OwnParts
from planwright.records.ownership.work_times import WorkTimes
from planwright.records.plans import Plans
from planwright.records.queue.queue import Queue
from planwright.records.queue.schedule_runs import ScheduleRuns
from planwright.records.queue.sessions import Sessions
from planwright.records.queue.workers import Workers
from planwright.records.runs import Runs
from planwright.records.verdicts import Verdicts
from planwright.records.whole_results import WholeResults
from planwright.security.redaction.redactor import Redactor
from planwright.store.blobs import Blobs
from planwright.store.database import Boundary, Database
from planwright.store.engines.engine import Engine
from planwright.store.engines.store_server import open_store_server
from planwright.store.marks.mark import Mark
from planwright.store.migrations import MIGRATIONS
from planwright.store.owners import OwnerLocks, Owners, folder_of
from planwright.store.store_time import StoreTime

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
    notices: Notices
    """Messages to people."""
    answer_links: AnswerLinks
    """Links in messages that take one answer."""
    rule_uses: RuleUses
    """How often always-allow rules were used."""

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
    gates = Gates(database, time)
    return Records(
        database=database,
        mark=mark,
        time=time,
        runs=Runs(database),
        leases=leases,
        plans=Plans(database),
        forks=Forks(database),
        undos=Undos(database),
        gates=gates,
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
        notices=Notices(database, owners, time),
        rule_uses=RuleUses(database),
        answer_links=AnswerLinks(database, gates),
    )


_Parts = tuple[Database, Mark, StoreTime, Blobs, OwnerLocks, Leases]


def _in_folder(folder: Path, options: StoreOptions) -> _Parts:
    path, redactor = folder / "planwright.db", options.get("redactor")
    database = _database(path, options, None, mark := Mark(folder_of(path)))
    blobs, owners = Blobs(folder / "blobs", redactor), Owners(folder_of(path))
    return database, mark, _time(database, options), blobs, owners, Leases(database, owners)


def _in_server(folder: Path, options: StoreOptions) -> _Parts:
    patience_s, redactor = options.get("busy_timeout_s", PATIENCE_S), options.get("redactor")
    server = open_store_server(options.get("url", ""), patience_s, redactor)
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
