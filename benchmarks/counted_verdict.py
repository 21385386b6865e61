"""The verdict on a run whose effects are counted: what the receiver says, and what is on record."""

from __future__ import annotations

from benchmarks.counted_person import Outcome
from benchmarks.counted_stage import Stage

DOUBTFUL = "SELECT key, capability, status, json_extract(args, '$.name') AS name, effect FROM effects"
ENDS = "SELECT run_id, count(*) AS n FROM journal WHERE type = 'run_end' GROUP BY 1"


def effects_wrong(stage: Stage) -> tuple[list[str], list[str], list[str]]:
    """Compare what happened with what was intended: doubled, lost, and left in doubt.

    What was to follow an effect that is left in doubt is left, too.
    """
    happened = [one.name for one in stage.receiver.happened()]
    most = {**stage.shape.may, **stage.shape.effects}
    doubled = [name for name in set(happened) if happened.count(name) > most.get(name, 0)]
    missing = [name for name, times in stage.shape.effects.items() if happened.count(name) < times]
    doubtful = stage.rows("SELECT 1 FROM effects WHERE status IN ('in_doubt', 'intent')")
    return doubled, [] if doubtful else missing, missing if doubtful else []


def unsettled(stage: Stage) -> list[str]:
    """List the effects that were begun and have no end on record, in runs that have ended."""
    query = (
        "SELECT json_extract(e.args, '$.name') AS name, r.status FROM effects e JOIN runs r USING (run_id)"
        " WHERE e.status = 'intent' AND r.ended_at IS NOT NULL"
    )
    return [f"the run is {row['status']}, and {row['name']} has no end" for row in stage.rows(query)]


def false_doubts(stage: Stage) -> list[str]:
    """List effects that are in doubt though their receiver knows."""
    rows = stage.rows(DOUBTFUL)
    return [
        f"in doubt, though the receiver knows: {row['capability']} {row['name']}"
        for row in rows
        if row["status"] == "in_doubt" and row["effect"] != "blind"
    ]


def ends_wrong(stage: Stage, last: Outcome) -> list[str]:
    """List what is wrong with the ends of all runs, and with what is on record then."""
    if not last.ended:
        return [f"it does not go on: {last.problem or last.refusals}"]
    wrong: list[str] = []
    runs = stage.rows("SELECT run_id, status FROM runs ORDER BY rowid")
    statuses = tuple(run["status"] for run in runs)
    if statuses != stage.shape.ends and not last.mixed:
        wrong.append(f"it ended as {', '.join(statuses)}")
    ends = {row["run_id"]: row["n"] for row in stage.rows(ENDS)}
    if any(ends.get(run["run_id"], 0) != 1 for run in runs):
        wrong.append(f"the journal tells {sum(ends.values())} ends of {len(runs)} runs")
    happened = {one.key for one in stage.receiver.happened()}  # a second attempt has a key of its own
    denied = [r["name"] for r in stage.rows(DOUBTFUL) if r["status"] == "failed" and r["key"] in happened]
    wrong += [f"recorded as failed, though it happened: {name}" for name in denied]
    if stage.shape.then == "remember" and len(stage.rows("SELECT 1 FROM memories")) != 1:
        wrong.append("it is not remembered once")
    return wrong + false_doubts(stage) + unsettled(stage)
