"""The verdict on a run whose world changed: by the receiver's book and the store, and by what was shown."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field

from benchmarks.world_changes import Change
from benchmarks.world_shapes import BROKEN
from benchmarks.world_stage import Ended, WorldStage

DOUBTFUL = (
    "SELECT e.key, e.first_key, e.capability, e.status, e.args, r.ended_at FROM effects e JOIN runs r USING"
    " (run_id) WHERE e.status IN ('intent', 'in_doubt')"
)
CARDS = "SELECT gate_id, kind, shown FROM gates WHERE status = 'open'"
KEY_DIGITS = 12
BARS = ("doubled", "lost", "intents", "unnamed", "untrue", "stuck")


@dataclass
class Verdict:
    """What is wrong with a run, by bars, each a list of sentences; and how often a person was asked."""

    doubled: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    intents: list[str] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)
    untrue: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    doubts: int = 0
    asked: int = 0

    @property
    def bad(self) -> bool:
        """Whether a bar was missed."""
        return any(getattr(self, name) for name in BARS)


def watch(stage: WorldStage, ended: Ended, verdict: Verdict, *, killed: bool) -> None:
    """Look at what a command showed: a card names each effect in doubt, as one that is in doubt."""
    if "Traceback" in ended.said:
        verdict.untrue.append(f"a traceback: {ended.said[-300:]}")
    cards = stage.rows(CARDS)
    if not killed or not cards:
        return
    asked = {
        effect["key"] for card in cards for effect in json.loads(str(card["shown"])).get("effects") or ()
    }
    verdict.asked += len(asked)
    for row in stage.rows(DOUBTFUL):
        if row["ended_at"]:
            continue
        verdict.doubts += 1
        name = str(json.loads(str(row["args"]))["name"])
        spelled = (str(row["key"])[:KEY_DIGITS], str(row["capability"]), name)
        if row["key"] not in asked:
            verdict.unnamed.append(f"{spelled[1]} {name} is {row['status']}, and no card asks about it")
        elif missing := [word for word in spelled if word not in ended.said]:
            verdict.unnamed.append(f"the card about {spelled[1]} {name} does not show {', '.join(missing)}")


def judge(stage: WorldStage, change: Change, stuck: str, verdict: Verdict) -> None:
    """Compare effects, records and ends with what should be."""
    happened = stage.receiver.happened()
    counts, there = Counter(one.name for one in happened), {one.key for one in happened}
    effects = stage.shape.effects
    verdict.doubled = [
        f"{name} happened {count} times" for name, count in counts.items() if count > effects.get(name, 0)
    ]
    if stuck:
        verdict.stuck.append(stuck)
    runs = stage.rows("SELECT status, ended_at FROM runs ORDER BY rowid")
    wanted = 2 if stage.shape.then == "fork" else 1
    completed = len(runs) == wanted and all(run["status"] == "completed" for run in runs)
    missing = [name for name, times in effects.items() if counts[name] < times]
    if completed:
        verdict.lost = [f"{name} happened {counts[name]} times, and the run is completed" for name in missing]
    elif not stuck:
        others = [str(run["status"]) for run in runs if run["status"] not in ("completed", *change.ends)]
        verdict.untrue += [f"the run is {status}" for status in others]
    for row in stage.rows(DOUBTFUL):
        name = f"{row['capability']} {json.loads(str(row['args'])).get('name', '')}"
        if row["ended_at"] and row["status"] == "intent":
            verdict.intents.append(f"{name} is begun, and its run has ended")
        elif row["ended_at"]:
            verdict.untrue.append(f"{name} is in doubt, and its run has ended without asking")
    for row in stage.rows("SELECT key, first_key, capability, status, args FROM effects"):
        name = json.loads(str(row["args"])).get("name")
        took_place = bool({row["key"], row["first_key"]} & there)
        if not str(row["capability"]).startswith("desk.") or row["capability"] == BROKEN:
            continue
        if row["status"] == "done" and not took_place:
            verdict.untrue.append(f"{name} is on record as done, and did not happen")
        if row["status"] == "failed" and took_place:
            verdict.untrue.append(f"{name} is on record as failed, and happened")
