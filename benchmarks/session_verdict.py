"""The verdict on sessions that have ended: what their events, checkpoints, gates and budgets say."""

from __future__ import annotations

from collections import Counter

from benchmarks.counted_stage import Stage
from planwright.upkeep.store_check import check_store

ENDINGS = ("task_completed", "task_failed")
EVENTS = (
    "SELECT j.run_id, j.type, j.seq FROM journal j JOIN sessions s USING (run_id) ORDER BY j.run_id, j.seq"
)
LEFT = {
    "an open gate": "SELECT gate_id FROM gates WHERE status = 'open'",
    "a reserved budget": "SELECT run_id FROM usage WHERE settled = 0",
    "a verdict without a checkpoint": (
        "SELECT v.key FROM verdicts v JOIN sessions s USING (run_id) WHERE NOT EXISTS"
        " (SELECT 1 FROM session_checkpoints c WHERE c.run_id = v.run_id AND c.verdict_key = v.key)"
    ),
    "a checkpoint without a verdict": (
        "SELECT c.hash FROM session_checkpoints c WHERE NOT EXISTS"
        " (SELECT 1 FROM verdicts v WHERE v.run_id = c.run_id AND v.key = c.verdict_key)"
    ),
}


def session_wrong(stage: Stage) -> list[str]:
    """List what is wrong with what is on record of sessions that have ended."""
    wrong = []
    for what, query in LEFT.items():
        if rows := stage.rows(query):
            wrong.append(f"left behind: {what}, {len(rows)} times")
    for run_id, types in _events(stage).items():
        counts = Counter(types)
        if counts["task_queued"] != 1 or types[0] != "task_queued":
            wrong.append(f"{run_id} was queued {counts['task_queued']} times")
        if sum(counts[ending] for ending in ENDINGS) != 1:
            wrong.append(f"the task of {run_id} ended {sum(counts[ending] for ending in ENDINGS)} times")
    if not stage.url:
        wrong += [f"db check: {finding.problem}" for finding in check_store(stage.store) if not finding.note]
    return wrong


def _events(stage: Stage) -> dict[str, list[str]]:
    events: dict[str, list[str]] = {}
    for row in stage.rows(EVENTS):
        events.setdefault(row["run_id"], []).append(row["type"])
    return events
