"""What has to be true during and after a simulated run, whatever was done to it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from benchmarks.simulated_ends import START_S
from benchmarks.simulated_requests import NOBODY
from planwright.extras.audit.replay import replay_run
from planwright.records.audit.verification import verify_chain
from planwright.store.blobs import Blobs
from planwright.store.store_files import BLOBS, RECORDS, read_only
from planwright.upkeep.store_check import check_store

if TYPE_CHECKING:
    from benchmarks.simulated_worker import Stage, Worker

ENDS = "SELECT run_id, count(*) AS n FROM journal WHERE type = 'run_end' GROUP BY run_id"
DONE = "SELECT 1 FROM effects WHERE step_uid = ? AND status = 'done'"
FENCED = frozenset(
    ("intent", "done", "failed", "in_doubt", "step", "confirm", "reserve", "settle", "status", "end", "gate")
    + ("plan", "chain", "memory", "propose", "title", "parts", "journal", "work", "checkpoint", "writes")
)

SPENDING = frozenset(("reserve", "settle"))  # done outside of runs as well, where the clock is troubled


def stale(stage: Stage, worker: Worker, store: str, names: frozenset[str]) -> Iterator[str]:
    """Look at a commit that changed rows: was the run its worker's?"""
    if store == "planwright" and "lease" in names:
        stage.holders |= {run["lease_token"]: run["owner"] for run in stage.rows("SELECT * FROM runs")}
    names -= {"time"}
    if not names or names - FENCED or (stage.days and names & SPENDING):
        return
    for row in stage.rows("SELECT lease_token AS token FROM runs ORDER BY rowid DESC LIMIT 1", name=store):
        if not worker.owns(stage.holders.get(row["token"])):
            yield f"{worker.name} wrote {'+'.join(sorted(names))} for a run that it does not hold"


def early(stage: Stage, names: frozenset[str]) -> Iterator[str]:
    """Look at gates that have just expired: had their time gone by?"""
    if "gate" in names:
        for gate in stage.rows("SELECT gate_id FROM gates WHERE status = 'open'"):
            stage.opened.setdefault(gate["gate_id"], (stage.world.now, stage.world.boot))
    if not names & {"expiry", "decision"}:
        return
    for gate in stage.rows("SELECT * FROM gates WHERE status = 'expired'"):
        if gate["gate_id"] in stage.expired:
            continue
        stage.expired.add(gate["gate_id"])
        stage.count("expired")
        at, boot = stage.opened[gate["gate_id"]]
        open_s, starts = stage.world.now - at, stage.world.boot - boot
        if open_s < stage.ttl_s - starts * START_S - 0.01:
            yield f"gate {gate['gate_id']} expired after {open_s:.0f} s of {stage.ttl_s}"


def judge(stage: Stage) -> None:
    """Note what is wrong with effects, records and ends."""
    stage.wrong += [
        *effects_wrong(stage),
        *_ends(stage),
        *_ledger(stage),
        *order_wrong(stage),
        *_limits(stage),
    ]
    stage.wrong += [f"db check: {one.problem}" for one in check_store(stage.store) if not one.note]
    stage.wrong += _told_otherwise(stage)


def _told_otherwise(stage: Stage) -> Iterator[str]:
    """Compare the store with its audit chain, and each run with what follows from its records."""
    with closing(read_only(stage.store / RECORDS)) as connection:
        connection.row_factory = sqlite3.Row
        findings, _ = verify_chain(connection)
        yield from (f"audit: {finding.run_id}: {finding.problem}" for finding in findings)
        for (run_id,) in connection.execute("SELECT run_id FROM runs").fetchall():
            replay = replay_run(connection, Blobs(stage.store / BLOBS), run_id)
            yield from (f"replay of {run_id}: {difference}" for difference in replay.differences)
            stage.count("replayed")
            stage.count("verdicts", replay.verdicts)


def effects_wrong(stage: Stage) -> Iterator[str]:
    most = max(1, len(stage.rows("SELECT 1 FROM runs")))  # who slept may ask for the same anew
    for name in sorted({one.name for one in stage.receivers.happened}):
        if (count := stage.receivers.count(name)) > most:
            yield f"{name} happened {count} times"
    for one in stage.receivers.happened:
        if not one.gated:
            yield f"{one.name} happened before anybody approved of it"


def _ends(stage: Stage) -> Iterator[str]:
    ends = {row["run_id"]: row["n"] for row in stage.rows(ENDS)}
    for run in stage.rows("SELECT * FROM runs ORDER BY rowid"):
        if run["ended_at"] is None and run["status"] == "budget_exceeded":
            if run["run_id"] in ends:  # it is put down at a limit, until somebody gives it more
                yield f"run {run['run_id']} is put down, and has ended"
            continue
        if run["ended_at"] is None:
            yield f"run {run['run_id']} has not ended, it is {run['status']}"
        elif ends.get(run["run_id"], 0) != 1:
            yield f"the journal tells {ends.get(run['run_id'], 0)} ends of {run['run_id']}"
        elif NOBODY in (run["answer"] or ""):
            yield f"run {run['run_id']} has ended, as its provider was away: {run['answer']}"
    paused = stage.rows("SELECT 1 FROM journal WHERE type = 'session_paused' AND data LIKE '%\"provider\"%'")
    stage.count("paused for its provider", len(paused))
    for step in [json.loads(row["result"]) for row in stage.rows("SELECT result FROM steps")]:
        if step["status"] == "completed" and str(step["capability"]).startswith("sim."):
            name = str((step.get("output") or {}).get("name"))
            if not stage.receivers.count(name):
                yield f"step {step['step_id']} completed, and {name} has not happened"
        if step["status"] == "skipped" and _begun(stage, step["uid"]):
            yield f"step {step['step_id']} was skipped, and it has happened"
        if step["status"] != "completed" and stage.rows(DONE, step["uid"]):
            yield f"step {step['step_id']} {step['status']}, and its effect is on record as done"


def _begun(stage: Stage, uid: str) -> bool:
    query = "SELECT coalesce(first_key, key) AS sent FROM effects WHERE step_uid = ?"
    return any(stage.receivers.has(row["sent"]) for row in stage.rows(query, uid))


def _ledger(stage: Stage) -> Iterator[str]:
    """Compare the ledger with the receivers, once a person has told the truth about what was in doubt."""
    for row in stage.rows("SELECT * FROM effects WHERE capability LIKE 'sim.%'"):
        name, there = json.loads(row["args"])["name"], stage.receivers.has(row["first_key"] or row["key"])
        unanswered = (row["effect"], row["code"]) == ("idempotent", "unavailable")
        if row["status"] in ("intent", "in_doubt"):
            yield f"the ledger leaves {name} as {row['status']}"
        elif there != (row["status"] == "done") and not (there and unanswered):
            yield f"the ledger says {row['status']} of {name}, and it {'happened' if there else 'did not'}"


def order_wrong(stage: Stage) -> Iterator[str]:
    """Compare what happened with what it depended on; a plan that goes on in part is no finding."""
    names = [one.name for one in stage.receivers.happened]
    for name, before in stage.request.effects.items():
        for one in before if stage.strict else ():
            if name in names and (one not in names or names.index(one) > names.index(name)):
                yield f"{name} happened before {one}, on which it depends"


def _limits(stage: Stage) -> Iterator[str]:
    for limit, most in stage.settings.get("budgets", {}).get("run", {}).items():
        queries = {
            "effects": "SELECT count(*) AS n FROM effects GROUP BY run_id",
            "tool_calls": "SELECT sum(calls) AS n FROM usage WHERE kind = 'tool' GROUP BY run_id",
            "tokens": "SELECT sum(tokens) AS n FROM usage WHERE kind = 'model' GROUP BY run_id",
        }
        query = queries.get(limit, "SELECT 0 AS n")  # time has a judge of its own
        yield from (f"{row['n']} {limit} of {most}" for row in stage.rows(query) if row["n"] > most)
