"""Whether what is recorded in several places agrees: ledger, journal, gates, budgets, blobs, checkpoints."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator

import ormsgpack
from pydantic import ValidationError

from planwright.checkpoints.thread_state.layout import KIND, refs_of
from planwright.domain.errors import RunError
from planwright.domain.hashing import sha256
from planwright.domain.plan import Plan
from planwright.domain.results import TERMINAL, StepResult
from planwright.records.effects.alternatives import STEP_ENDED
from planwright.store.blobs import Blobs
from planwright.store.store_files import RECORDS
from planwright.store.store_time import time_on_record
from planwright.upkeep.findings import RESTORE, StoreFinding, several

OF_RUNS = ("plans", "gates", "effects", "steps", "journal", "chains", "own_parts", "forks", "work_times")
ENDED = f"status IN ({', '.join(repr(status) for status in sorted(TERMINAL))})"
_ANSWER = re.compile(rb"answer_(run_[0-9a-f]+)")  # the id of the message that session_close leaves behind
CLOSING = "branch:to:session_close"
REDACTED = "%[REDACTED %"  # the hash is of what was meant, the row holds what may be shown
_CUT = r"instr(j.data, '\u0000')"  # json_extract cuts a text off at a NUL
DAYS = "SELECT tenant, provider, day, tokens, cost FROM usage_days"
SUMS = (
    "SELECT tenant, provider, substr(at, 1, 10) AS day, sum(tokens) AS tokens, coalesce(sum(cost), 0) AS cost"
    " FROM usage WHERE kind = 'model' AND settled = 1 GROUP BY 1, 2, 3"
)
# By what it says: a query for the ids that it is so of. {} is filled with the ids.
FAULTS: dict[str, tuple[str, str]] = {
    "runs have ended and not ended at once: {}": (
        f"SELECT run_id FROM runs WHERE (ended_at IS NULL) = ({ENDED})"
        " AND NOT (status = 'budget_exceeded' AND paused_for IS NOT NULL)",
        RESTORE,
    ),
    "gates of runs that have ended are still open: {}": (
        "SELECT gate_id FROM gates g JOIN runs r USING (run_id) WHERE g.status = 'open'"
        " AND r.ended_at IS NOT NULL",
        RESTORE,
    ),
    "effects of runs that have ended were begun and never settled, in run {}": (
        "SELECT DISTINCT e.run_id FROM effects e JOIN runs r USING (run_id)"
        " WHERE e.status = 'intent' AND r.ended_at IS NOT NULL",
        "ask the receiver whether it happened: planwright show RUN",
    ),
    "effects are done and no step of their run tells of it, in run {}": (
        "SELECT DISTINCT e.run_id FROM effects e JOIN runs r USING (run_id) WHERE e.status = 'done'"
        f" AND r.ended_at IS NOT NULL AND NOT {STEP_ENDED}",
        RESTORE,
    ),
    "the journal tells of steps that are not on record, in run {}": (
        "SELECT DISTINCT j.run_id FROM journal j WHERE j.type = 'plan_step_complete' AND NOT EXISTS"
        " (SELECT 1 FROM steps s WHERE s.run_id = j.run_id AND j.key = 'plan_step_complete:' || s.uid"
        " AND s.status = 'completed')",
        RESTORE,
    ),
    "the journal of a run lacks its beginning, of run {}": (
        "SELECT run_id FROM runs r WHERE (ended_at IS NOT NULL OR EXISTS (SELECT 1 FROM plans p"
        " WHERE p.run_id = r.run_id)) AND NOT EXISTS (SELECT 1 FROM journal j WHERE j.run_id = r.run_id"
        " AND (j.type = 'user_message' OR (j.type = 'task_queued' AND r.cancelled_by IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM plans b WHERE b.run_id = r.run_id))))",
        RESTORE,
    ),
    "the journal tells another end, or another answer, of run {}": (
        "SELECT run_id FROM runs r WHERE ended_at IS NOT NULL AND NOT (EXISTS (SELECT 1 FROM journal j"
        " WHERE j.run_id = r.run_id AND j.type = 'run_end' AND json_extract(j.data, '$.status') = r.status)"
        " AND EXISTS (SELECT 1 FROM journal j WHERE j.run_id = r.run_id AND j.type = 'agent_message'"
        f" AND (json_extract(j.data, '$.content') = r.answer OR {_CUT})))",
        RESTORE,
    ),
    "the journal tells of gates that are not on record, in run {}": (
        "SELECT DISTINCT j.run_id FROM journal j WHERE j.type = 'approval_requested' AND NOT EXISTS"
        " (SELECT 1 FROM gates g WHERE g.gate_id = json_extract(j.data, '$.gate_id'))",
        RESTORE,
    ),
    "plans that were asked for or begun are not on record, in run {}": (
        "SELECT DISTINCT x.run_id FROM (SELECT run_id, shown_hash AS hash FROM gates WHERE kind = 'plan'"
        " UNION SELECT run_id, json_extract(data, '$.plan_hash') FROM journal WHERE type = 'plan_start') x"
        " WHERE x.hash IS NOT NULL AND NOT EXISTS"
        " (SELECT 1 FROM plans p WHERE p.run_id = x.run_id AND p.plan_hash = x.hash)",
        RESTORE,
    ),
    "the journal tells another request of run {}": (
        "SELECT r.run_id FROM runs r JOIN journal j USING (run_id) WHERE j.type = 'user_message'"
        f" AND json_extract(j.data, '$.content') <> r.request AND NOT {_CUT}",
        RESTORE,
    ),
    "the days of usage do not add up, on {}": (
        f"SELECT day FROM ({DAYS} EXCEPT {SUMS}) UNION SELECT day FROM ({SUMS} EXCEPT {DAYS})",
        RESTORE,
    ),
}


def disagreements(records: sqlite3.Connection, blobs: Blobs) -> Iterator[StoreFinding]:
    """Find what is recorded twice and not alike."""
    for table in OF_RUNS:
        query = f"SELECT DISTINCT run_id FROM {table} WHERE run_id NOT IN (SELECT run_id FROM runs)"
        if runs := _ids(records, query):
            yield StoreFinding(
                RECORDS, f"{table} tells of runs that are not on record: {several(runs)}", RESTORE
            )
    for problem, (query, next_step) in FAULTS.items():
        if ids := _ids(records, query):
            yield StoreFinding(RECORDS, problem.format(several(ids)), next_step)
    yield from _of_steps(records)
    yield from _of_hashes(records)
    yield from _of_blobs(records, blobs)
    yield from _of_reservations(records)
    yield from _of_times(records)


def _ids(connection: sqlite3.Connection, query: str) -> list[str]:
    return [str(row[0]) for row in connection.execute(query)]


def _of_steps(records: sqlite3.Connection) -> Iterator[StoreFinding]:
    """Compare the columns of a step with the result they are taken from."""
    bad = []
    for run_id, uid, step_id, status, text in records.execute(
        "SELECT run_id, uid, step_id, status, result FROM steps"
    ):
        try:
            result = StepResult.model_validate_json(text)
        except ValidationError:
            bad.append(run_id)
            continue
        if (result.uid, result.step_id, result.status) != (uid, step_id, status):
            bad.append(run_id)
    if bad:
        yield StoreFinding(RECORDS, f"steps have been changed, of run {several(bad)}", RESTORE)


def _of_hashes(records: sqlite3.Connection) -> Iterator[StoreFinding]:
    """Compare titles, what a person approves, and what was called with what, with the hashes beside it."""
    of_threads = "threads have other titles than they were given: {}"
    of_gates = "the card of gate {} is not the one that was made for it"
    of_effects = "effects have other arguments than were called, in run {}"
    for table, name, column, hash_, read, problem in (
        ("threads", "thread_id", "title", "title_hash", str, of_threads),
        ("gates", "gate_id", "shown", "card_hash", json.loads, of_gates),
        ("effects", "run_id", "args", "args_hash", json.loads, of_effects),
    ):
        query = (
            f"SELECT {name}, {column}, {hash_} FROM {table} WHERE {hash_} IS NOT NULL AND {column} NOT LIKE ?"
        )
        rows = records.execute(query, (REDACTED,))
        if bad := [row[0] for row in rows if sha256(read(row[1])) != row[2]]:
            yield StoreFinding(RECORDS, problem.format(several(bad)), RESTORE)
    query = "SELECT run_id, plan, plan_hash FROM plans JOIN runs r USING (run_id) WHERE r.ended_at IS NULL"
    if bad := [run for run, plan, hash_ in records.execute(query) if _hash_of(plan) != hash_]:
        yield StoreFinding(RECORDS, f"a plan has been changed, of run {several(bad)}", RESTORE)


def _hash_of(plan: str) -> str:
    try:
        return Plan.model_validate_json(plan).plan_hash
    except ValidationError:
        return ""


def _of_blobs(records: sqlite3.Connection, blobs: Blobs) -> Iterator[StoreFinding]:
    named = _ids(
        records,
        "SELECT json_extract(result, '$.blob') FROM steps WHERE json_extract(result, '$.blob') <> ''"
        " UNION SELECT json_extract(data, '$.context_hash') FROM journal WHERE type = 'plan_created'"
        " AND json_extract(data, '$.context_hash') <> '' UNION SELECT before FROM file_versions"
        " WHERE before <> '' UNION SELECT context_hash FROM forks WHERE context_hash <> ''",
    )
    bad = []
    for digest in named:
        try:
            blobs.get_bytes(digest)
        except RunError:
            bad.append(digest[:12])
    if bad:
        problem = f"results and contexts are gone or were changed: {several(bad)}"
        yield StoreFinding("blobs", problem, f"put them back from a backup: {RESTORE}")


def _of_reservations(records: sqlite3.Connection) -> Iterator[StoreFinding]:
    query = (
        "SELECT DISTINCT u.run_id FROM usage u JOIN runs r USING (run_id) WHERE settled = 0"
        " AND r.ended_at IS NOT NULL AND expires_at {} ?"
    )
    now = time_on_record(records).now_s
    for sign, next_step in (
        (">", "wait: they come back when they expire"),
        ("<=", "nothing: they count no more"),
    ):
        if runs := [row[0] for row in records.execute(query.format(sign), (now,))]:
            problem = f"calls of models were begun and never settled, in run {several(runs)}"
            yield StoreFinding(RECORDS, problem, next_step, note=True)


def _of_times(records: sqlite3.Connection) -> Iterator[StoreFinding]:
    """Find runs that only records or only checkpoints know, or know to have ended: the others are older."""
    query = "SELECT run_id, thread_id, ended_at, cancelled_by FROM runs ORDER BY rowid"
    runs = {row[0]: row[1:] for row in records.execute(query)}
    (begun, closing), answered = _begun(records), _answered(records)
    ahead = {run for run in begun if run not in runs} | {
        run for run in answered & runs.keys() if not runs[run][1]
    }
    if ahead:
        problem = (
            f"the records are older than the checkpoints, which have more of run {several(sorted(ahead))}"
        )
        yield StoreFinding(RECORDS, problem, RESTORE)
    query = "SELECT DISTINCT run_id FROM plans JOIN runs r USING (run_id) WHERE r.ended_at IS NULL"
    threads = set(_ids(records, "SELECT DISTINCT thread_id FROM checkpoints"))
    behind = {run for run in _ids(records, query) if run not in begun or runs[run][0] not in threads}
    for thread in set(begun.values()):
        ended = [run for run, (where, at, _) in runs.items() if where == thread and at and run in begun]
        late = [run for run in ended if run not in answered | closing]
        if len(late) > 1 or not all(runs[run][2] for run in late):  # from outside: closed when opened next
            behind |= set(late)
    if behind:
        problem = (
            f"the checkpoints are older than the records, which have more of run {several(sorted(behind))}"
        )
        yield StoreFinding(RECORDS, problem, RESTORE)


def _begun(records: sqlite3.Connection) -> tuple[dict[str, str], set[str]]:
    """Name the runs that checkpoints know, with their threads, and those that were closed or about to.

    Of the runs that are past, the checkpoints may be gone, and of the newest all but one.
    """
    rows = records.execute("SELECT DISTINCT thread_id, value FROM writes WHERE channel = 'run_id'")
    begun, closing = {ormsgpack.unpackb(value): thread for thread, value in rows}, set[str]()
    query = "SELECT thread_id, checkpoint FROM checkpoints WHERE type = ? AND checkpoint_ns = ''"
    for thread, payload in records.execute(query, (KIND,)):
        refs = refs_of(payload)
        if isinstance(ref := refs.get("run_id"), list) and isinstance(run := ref[0], str):
            begun[run] = thread
            ended = isinstance(status := refs.get("status"), list) and status[0] in TERMINAL
            closing |= {run} if CLOSING in refs or ended else set()
    return begun, closing


def _answered(records: sqlite3.Connection) -> set[str]:
    """Name the runs whose last message is in a checkpoint."""
    query = (
        "SELECT value FROM writes WHERE channel = 'messages' UNION ALL SELECT checkpoint FROM checkpoints"
        " UNION ALL SELECT value FROM contents"
    )
    rows = records.execute(query)
    return {run.decode() for (value,) in rows for run in _ANSWER.findall(value)}
