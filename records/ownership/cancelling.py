"""Cancelling a run from outside of it, by its records alone: no graph is loaded, and no model is asked.

A run that a process works on is ended by that process. One that nobody works on is ended here; its thread
is closed by whoever opens it next, before anything else.
"""

from __future__ import annotations

import sqlite3
from datetime import datetime
from functools import partial

from pydantic import JsonValue

from planwright.domain.errors import RunError
from planwright.domain.events import Event, EventType
from planwright.domain.lease import Lease
from planwright.domain.results import RunStatus
from planwright.records.consent.gate import decision_data, request_data
from planwright.records.effects.alternatives import STEP_ENDED
from planwright.records.records import Records
from planwright.records.runs import Run
from planwright.telemetry.log_records import log_event

LEASE_S = 30
Events = dict[str, tuple[EventType, dict[str, JsonValue]]]


async def cancel(records: Records, which: str, by: str, ends_as: RunStatus = "cancelled") -> Run:
    """Cancel the run that a plan, run or thread id names, and return it as it is then.

    It has ended, unless a process is still busy with it, or died in the middle of an effect: what became of
    that is looked up when the run is resumed. Raises RunError when there is none, or when it has ended.
    """
    run = await records.runs.named(which)
    if run is None:
        raise RunError(f"there is no plan, run or thread {which}", "list the runs: planwright ls")
    at = (await records.time.look()).now
    await records.runs.cancel(run.run_id, by, at, ends_as)
    now, free = await records.leases.wait_until_free(partial(records.runs.named, run.run_id))
    if not free:
        return now or run
    unsettled = await records.database.read(lambda c: _unsettled(c, run.run_id))
    if now is not None and not now.ended and not unsettled:
        await _end(records, now, by, at)
    return await records.runs.named(run.run_id) or run


async def _end(records: Records, run: Run, by: str, at: datetime) -> None:
    """End a run that nobody works on. Whoever takes it in this moment ends it instead."""
    try:
        lease = await records.leases.take(run, LEASE_S)
    except RunError:
        return
    try:
        done = await records.database.read(lambda c: _done(c, run.run_id))
        answer = "\n".join([f"Cancelled by {by}.", *([f"Done before: {', '.join(done)}."] if done else [])])
        spent = await records.budgets.spent(run.run_id, at)
        used = {name: value for name, value in vars(spent).items() if name != "calls"}
        status = run.ends_as or "cancelled"
        ending: dict[str, JsonValue] = {"status": status, "estimated": None, "used": used}
        events = await _of_gates(records, run.run_id)
        events["agent_message:run"] = ("agent_message", {"content": answer})
        if await records.sessions.of(run.run_id) is not None:
            events["task_failed:task"] = ("task_failed", {"status": status})
        events["run_end:run"] = ("run_end", ending)
        await _tell(records, lease, events, at)
        records.runs.end(lease, status, answer, at)
    finally:
        await records.leases.release(lease)


async def _of_gates(records: Records, run_id: str) -> Events:
    """Tell of each gate of a run that a person was asked, and how it closed."""
    events: Events = {}
    for gate in await records.gates.of_run(run_id):
        events[f"approval_requested:{gate.gate_id}"] = ("approval_requested", request_data(gate))
        if gate.status != "edited":
            events[f"approval_resolved:{gate.gate_id}"] = ("approval_resolved", decision_data(gate))
    return events


async def _tell(records: Records, lease: Lease, events: Events, at: datetime) -> None:
    """Write events down that are not there yet, under the keys that the graph gives them."""
    known, seq = await records.journal.keys(lease.run_id), await records.journal.last_seq(lease.run_id)
    for key, (type_, data) in events.items():
        if key in known:
            continue
        seq += 1
        event = Event(
            v=1,
            seq=seq,
            ts=at.isoformat(timespec="milliseconds"),
            run_id=lease.run_id,
            thread_id=lease.thread_id,
            type=type_,
            data=data,
        )
        records.journal.append(event, key, lease)
        log_event(event)


def _done(connection: sqlite3.Connection, run_id: str) -> list[str]:
    query = "SELECT step_id FROM steps WHERE run_id = ? AND status = 'completed' ORDER BY rowid"
    return [str(row[0]) for row in connection.execute(query, (run_id,))]


def _unsettled(connection: sqlite3.Connection, run_id: str) -> bool:
    """Say whether an effect of a run was begun, and nothing was heard of it, or its step has not ended."""
    query = (
        "SELECT 1 FROM effects e WHERE e.run_id = ?"
        f" AND (e.status = 'intent' OR (e.status <> 'failed' AND NOT {STEP_ENDED}))"
    )
    return connection.execute(query, (run_id,)).fetchone() is not None
