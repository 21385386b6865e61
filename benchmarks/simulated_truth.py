"""What has to be true after a simulated run, whatever was done to it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from benchmarks.simulated_worker import Stage
from planwright.checkpoints.store_check import check_store

RUNS = "SELECT * FROM runs ORDER BY rowid"
ENDS = "SELECT run_id, count(*) AS n FROM journal WHERE type = 'run_end' GROUP BY run_id"


def judge(stage: Stage) -> None:
    """Note what is wrong with effects, records and ends."""
    stage.wrong += [*_effects(stage), *_ends(stage), *_ledger(stage), *_order(stage)]
    stage.wrong += [f"db check: {one.file}: {one.what}" for one in check_store(stage.store) if not one.note]


def _effects(stage: Stage) -> Iterator[str]:
    for name in stage.request.effects:
        if (count := stage.receivers.count(name)) > 1:
            yield f"{name} happened {count} times"
    for one in stage.receivers.happened:
        if not one.gated:
            yield f"{one.name} happened before anybody approved of it"


def _ends(stage: Stage) -> Iterator[str]:
    runs = stage.rows(RUNS)
    ends = {row["run_id"]: row["n"] for row in stage.rows(ENDS)}
    for run in runs:
        if run["ended_at"] is None:
            yield f"run {run['run_id']} has not ended, it is {run['status']}"
        elif ends.get(run["run_id"], 0) != 1:
            yield f"the journal tells {ends.get(run['run_id'], 0)} ends of {run['run_id']}"
        elif run["status"] == "completed" and len(runs) == 1:
            yield from (
                f"the run completed, and {name} has not happened"
                for name in stage.request.effects
                if not stage.receivers.count(name)
            )


def _ledger(stage: Stage) -> Iterator[str]:
    """Compare the ledger with the receivers."""
    for row in stage.rows("SELECT * FROM effects"):
        name = json.loads(row["args"])["name"]
        there = any(one.key == row["key"] for one in stage.receivers.happened)
        anywhere = stage.receivers.count(name) > 0
        if row["status"] == "done" and not there and not anywhere:
            yield f"the ledger says that {name} is done, and it is not"
        if row["status"] == "failed" and there:
            yield f"the ledger says that {name} has failed, and it happened"
        if row["status"] == "intent":
            yield f"the ledger leaves {name} as begun"
        if row["status"] == "in_doubt" and row["effect"] != "blind":
            yield f"{name} is in doubt, though its receiver knows"
        if row["status"] == "in_doubt" and name in stage.said:
            yield f"{name} is in doubt, though a person said that it happened"


def _order(stage: Stage) -> Iterator[str]:
    names = [one.name for one in stage.receivers.happened]
    for name, before in stage.request.effects.items():
        for one in before:
            if name in names and (one not in names or names.index(one) > names.index(name)):
                yield f"{name} happened before {one}, on which it depends"
