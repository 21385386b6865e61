"""Forks: runs that take over the plan of an older run, and the results of the steps they keep."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pydantic import BaseModel, ConfigDict, JsonValue

from planwright.domain.chain import CREATE_CHAIN
from planwright.domain.errors import RunError
from planwright.domain.hashing import sha256, stored_json
from planwright.domain.plan import Plan
from planwright.domain.results import StepResult
from planwright.domain.verified_step import VerifiedStep
from planwright.records.effects.done_before import EarlierEffect, done_before
from planwright.records.effects.undone import CALLS, undone_steps
from planwright.records.runs import Run, begin_run, run_of
from planwright.store.database import Database

_PLAN = """SELECT plan, checked, gate_id FROM plans
    WHERE run_id = :run AND kind = 'plan' AND (:hash IS NULL OR plan_hash = :hash)
    ORDER BY rowid DESC LIMIT 1"""
_UNCERTAIN = "SELECT step_uid FROM effects WHERE run_id = ? AND status IN ('intent', 'in_doubt')"


class Fork(BaseModel):
    """Where a run comes from. Without a plan it begins its request anew.

    `task` is that of the source as plain data; `again` names the steps that were done there and are
    not kept. One that is an `undo` does what undoes the source, and keeps nothing.
    """

    model_config = ConfigDict(frozen=True)
    run_id: str
    """Id of the new run."""
    source_run: str
    """Id of the run that it comes from; "" for a call that a person asked for by name."""
    checkpoint_id: str | None = None
    """Checkpoint that it begins at; None for the newest state of the source."""
    plan: Plan | None = None
    """Plan that it goes on with; None where it begins the request anew."""
    task: dict[str, JsonValue]
    """Task of the source as plain data, so that it is not extracted again."""
    context_hash: str = ""
    """Hash of what the planner of the source was shown, in the blob store; "" for none."""
    again: tuple[str, ...] = ()
    """Ids of the steps that were done in the source and are done again."""
    undo: bool = False
    """Whether it undoes the source."""

    @property
    def fixed(self) -> bool:
        """Whether no model makes another plan: what a person asked for by name is done, or nothing is."""
        return self.undo or not self.source_run


@dataclass(frozen=True)
class ForkSource:
    """What is on record of a run to fork: a verified plan, and how steps ended, by uid.

    `uncertain` holds the uids of steps and calls with an effect of which nobody knows whether it happened,
    `undone` those of steps with one that was undone, or may have been.
    """

    plan: Plan | None
    """The verified plan of the source; None where it has none."""
    checked: list[VerifiedStep]
    """Its steps as verified."""
    results: dict[str, StepResult]
    """How its steps ended, by uid."""
    uncertain: frozenset[str]
    """Uids of steps and calls with an effect of which nobody knows whether it happened."""
    undone: frozenset[str] = frozenset()
    """Uids of steps with an effect that was undone, or may have been."""


class Forks:
    """The table of forks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def run_named(self, name: str) -> Run:
        """Find a run by its id, or the newest of a thread. Raises RunError when there is none."""

        def job(connection: sqlite3.Connection) -> sqlite3.Row | None:
            query = "SELECT * FROM runs WHERE run_id = :name OR thread_id = :name ORDER BY rowid DESC LIMIT 1"
            row: sqlite3.Row | None = connection.execute(query, {"name": name}).fetchone()
            return row

        row = await self._database.read(job)
        if row is None:
            raise RunError(f"there is no thread or run {name}", "list them: planwright ls")
        return run_of(row)

    async def run_after(self, thread_id: str, run_id: str | None) -> str:
        """Name the run that came after another on a thread, or the first; "" where there is none."""
        query = (
            "SELECT run_id FROM runs WHERE thread_id = :thread AND rowid >"
            " coalesce((SELECT rowid FROM runs WHERE run_id = :run), 0) ORDER BY rowid LIMIT 1"
        )

        def job(connection: sqlite3.Connection) -> str:
            row = connection.execute(query, {"thread": thread_id, "run": run_id}).fetchone()
            return str(row[0]) if row else ""

        return await self._database.read(job)

    async def base_of(self, run: Run) -> str | None:
        """Name the checkpoint that a run begins at; None for the newest of its thread."""
        query = (
            "SELECT checkpoint_id FROM forks WHERE run_id = ? AND EXISTS"
            " (SELECT 1 FROM runs WHERE run_id = source_run AND thread_id = ?)"
        )

        def job(connection: sqlite3.Connection) -> str | None:
            row = connection.execute(query, (run.run_id, run.thread_id)).fetchone()
            return row[0] if row else None

        return await self._database.read(job)

    async def source(self, run_id: str, plan_hash: str | None = None) -> ForkSource:
        """Read what is on record of a run: the plan with this hash, or the newest one."""

        def job(connection: sqlite3.Connection) -> ForkSource:
            row = connection.execute(_PLAN, {"run": run_id, "hash": plan_hash}).fetchone()
            settled = connection.execute("SELECT uid, result FROM steps WHERE run_id = ?", (run_id,))
            results = {uid: StepResult.model_validate_json(result) for uid, result in settled}
            uncertain = frozenset(uid for (uid,) in connection.execute(_UNCERTAIN, (run_id,)))
            plan, checked = (None, []) if row is None else _verified(row)
            undone = _undone(connection, run_id, checked, results)
            return ForkSource(plan, checked, results, uncertain, undone)

        return await self._database.read(job)

    async def begin(self, run: Run, fork: Fork, results: list[StepResult], at: datetime) -> None:
        """Write a fork down, with the results it keeps, in one transaction.

        Raises RunError when its thread is neither new nor rewound by it, its source is being worked on by
        now, or what it keeps is being undone, or was meanwhile.
        """

        def job(connection: sqlite3.Connection) -> None:
            query = "SELECT run_id FROM runs WHERE thread_id = ?"
            runs = {run_id for (run_id,) in connection.execute(query, (run.thread_id,))}
            rewinds = fork.checkpoint_id is not None and fork.source_run in runs
            if runs and not rewinds:
                raise taken(run.thread_id)
            query = "SELECT thread_id FROM runs WHERE run_id = ? AND status = 'running'"
            if busy := connection.execute(query, (fork.source_run,)).fetchone():
                raise not_over(fork.source_run, busy[0])
            _check_holds(connection, fork.source_run, results)
            begin_run(connection, run)
            write_fork(connection, run, fork, at)
            connection.executemany(
                "INSERT INTO steps (run_id, tenant, uid, step_id, status, result, ended_at)"
                " VALUES (?,?,?,?,?,?,?)",
                [
                    (run.run_id, run.tenant, step.uid, step.step_id, step.status)
                    + (stored_json(step), at.isoformat())
                    for step in results
                ],
            )
            for name in _kept_chains(fork, results):
                connection.execute(
                    "INSERT INTO chains (run_id, tenant, name, hash, definition, made_at)"
                    " SELECT ?, tenant, name, hash, definition, made_at FROM chains"
                    " WHERE run_id=? AND name=?",
                    (run.run_id, fork.source_run, name),
                )

        await self._database.run("fork", job)

    async def done_before(
        self, run_id: str, capability: str, args: Mapping[str, JsonValue]
    ) -> EarlierEffect | None:
        """Find what the runs that a fork comes from have done of a capability; None when that is nothing.

        `args` are the whole arguments of the call, as the ledger would record them.
        """
        hash_ = sha256(args)
        return await self._database.read(lambda c: done_before(c, run_id, capability, hash_))

    async def of(self, run_id: str) -> Fork | None:
        """Read where a run comes from; None when it is no fork."""

        def job(connection: sqlite3.Connection) -> sqlite3.Row | None:
            row: sqlite3.Row | None = connection.execute(
                "SELECT * FROM forks WHERE run_id = ?", (run_id,)
            ).fetchone()
            return row

        row = await self._database.read(job)
        if row is None:
            return None
        plan = Plan.model_validate_json(row["plan"]) if row["plan"] else None
        read = {name: json.loads(row[name]) for name in ("task", "again")}
        return Fork.model_validate({**dict(row), **read, "plan": plan})


def _undone(
    connection: sqlite3.Connection,
    run_id: str,
    checked: list[VerifiedStep],
    results: dict[str, StepResult],
) -> frozenset[str]:
    """Find the uids of steps that were undone, or may have been, here or where they were kept from."""
    origins = {result.kept_from or run_id for result in results.values()}
    undone = {origin: undone_steps(connection, origin) for origin in origins}
    uids = set()
    for entry in checked:
        if entry.uid in results:
            names = {entry.step.id, CALLS} if entry.step.agentic or entry.chain else {entry.step.id}
            if names & undone[results[entry.uid].kept_from or run_id]:
                uids.add(entry.uid)
    return frozenset(uids)


def _check_holds(connection: sqlite3.Connection, source_run: str, results: list[StepResult]) -> None:
    """Raise RunError when results that a fork is to keep are being undone, or were meanwhile."""
    for origin in {result.kept_from or source_run for result in results}:
        if by := open_undo(connection, origin):
            raise being_undone(origin, *by)
        if undone_steps(connection, origin) & {result.step_id for result in results}:
            raise RunError(f"some of run {origin} was undone meanwhile", "look, and try again")


def open_undo(connection: sqlite3.Connection, run_id: str) -> tuple[str, str] | None:
    """Find the run and thread that undo a run now."""
    query = (
        "SELECT r.run_id, r.thread_id FROM runs r JOIN forks f USING (run_id)"
        " WHERE f.source_run = ? AND f.undo = 1 AND r.ended_at IS NULL"
    )
    row = connection.execute(query, (run_id,)).fetchone()
    return None if row is None else (row[0], row[1])


def being_undone(run_id: str, by: str, thread_id: str) -> RunError:
    """Say that a run is being undone."""
    cause = f"run {by} is undoing {run_id}, and has not ended"
    return RunError(cause, f"go on with it: planwright resume {thread_id}")


def write_fork(connection: sqlite3.Connection, run: Run, fork: Fork, at: datetime) -> None:
    """Write down where a run comes from."""
    connection.execute(
        "INSERT INTO forks (run_id, tenant, source_run, checkpoint_id, plan, task, context_hash, again,"
        " created_at, undo) VALUES (?,?,?,?,?,?,?,?,?,?)",
        (run.run_id, run.tenant, fork.source_run, fork.checkpoint_id)
        + (stored_json(fork.plan) if fork.plan else None, json.dumps(fork.task))
        + (fork.context_hash, json.dumps(fork.again), at.isoformat(), fork.undo),
    )


def _kept_chains(fork: Fork, results: list[StepResult]) -> list[str]:
    """Name the chains that a fork has: those made by steps it keeps."""
    done = {step.step_id for step in results}
    steps = fork.plan.steps if fork.plan else ()
    creations = (step for step in steps if step.capability == CREATE_CHAIN and step.id in done)
    return [str(step.params.get("name")) for step in creations]


def taken(thread_id: str) -> RunError:
    """Say that a fork needs a thread of its own."""
    return RunError(f"there is a thread {thread_id} already", "leave the thread id out, or give a new one")


def not_over(run_id: str, thread_id: str) -> RunError:
    """Say that a run has to stop before it can be forked."""
    return RunError(
        f"run {run_id} neither waits nor has it ended", f"finish it first: planwright resume {thread_id}"
    )


def _verified(row: sqlite3.Row) -> tuple[Plan, list[VerifiedStep]]:
    checked = [VerifiedStep.model_validate(entry) for entry in json.loads(row["checked"])]
    return Plan.model_validate_json(row["plan"]), checked
