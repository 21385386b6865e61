"""The verdict on a run whose world changed: by the receiver's book and the store, and by what was shown."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field

from benchmarks.world_changes import HOST_NAME, Change
from benchmarks.world_shapes import BROKEN
from benchmarks.world_stage import Ended, WorldStage

DOUBTFUL = (
    "SELECT e.key, e.first_key, e.capability, e.status, e.args, r.ended_at FROM effects e JOIN runs r USING"
    " (run_id) WHERE e.status IN ('intent', 'in_doubt') AND e.capability LIKE 'desk.%'"
)
CARDS = "SELECT gate_id, kind, shown FROM gates WHERE status = 'open'"
OWNERS = "SELECT 1 FROM runs WHERE owner LIKE ?"
PARTS = "SELECT data FROM journal WHERE type = 'versions_changed' ORDER BY seq"
UNBELIEVED = "SELECT 1 FROM store_time WHERE abs(off_s) > 43200"  # a clock that is half a day off
KEY_DIGITS = 12
BESIDE = "you are asked about it when the run comes to it"  # said below what is in doubt beside an open gate
BARS = ("doubled", "lost", "intents", "unnamed", "untrue", "stuck")


@dataclass
class Verdict:
    """What is wrong with a run, by bars, each a list of sentences, and what came of it beside that.

    `asked` counts the effects that cards asked about, `noticed` is what the program took to be other,
    `left` the keys of what was in doubt when its run ended.
    """

    doubled: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    intents: list[str] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)
    untrue: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    asked: int = 0
    noticed: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    @property
    def bad(self) -> bool:
        """Whether a bar was missed."""
        return any(getattr(self, name) for name in BARS)


def watch(stage: WorldStage, ended: Ended, verdict: Verdict, *, killed: bool) -> None:
    """Look at what a command showed: with a card stands each effect in doubt, asked about or to be so."""
    if "Traceback" in ended.said:
        verdict.untrue.append(f"a traceback: {ended.said[-300:]}")
    if not killed:
        return
    cards = [card for card in stage.rows(CARDS) if str(card["gate_id"]) in ended.said]
    asked = {
        effect["key"] for card in cards for effect in json.loads(str(card["shown"])).get("effects") or ()
    }
    verdict.asked += len(asked)
    for row in stage.rows(DOUBTFUL):
        if (not cards and not row["ended_at"]) or row["key"] in verdict.left:
            continue
        name = str(json.loads(str(row["args"])).get("name", ""))  # a store that went back has no arguments
        spelled = (str(row["key"])[:KEY_DIGITS], str(row["capability"]), name)
        missing = [word for word in spelled if word not in ended.said]
        if row["ended_at"]:
            verdict.left.append(str(row["key"]))
        if row["ended_at"] and row["status"] == "intent":
            verdict.intents.append(f"{spelled[1]} {name} is begun, and its run has ended")
        if row["ended_at"] and missing:
            verdict.unnamed.append(f"the run ends, and {spelled[1]} {name} is {row['status']} in silence")
        elif not row["ended_at"] and row["key"] not in asked and (missing or BESIDE not in ended.said):
            verdict.unnamed.append(f"{spelled[1]} {name} is {row['status']}, and no card asks about it")
        elif missing:
            verdict.unnamed.append(f"the card about {spelled[1]} {name} does not show {', '.join(missing)}")


def judge(stage: WorldStage, change: Change, stuck: str, verdict: Verdict) -> None:
    """Compare effects, records and ends with what should be."""
    happened = stage.receiver.happened()
    counts, there = Counter(one.name for one in happened), {one.key for one in happened}
    effects = stage.shape.effects
    verdict.doubled = [
        f"{name} happened {count} times" for name, count in counts.items() if count > effects.get(name, 0)
    ]
    verdict.noticed = _noticed(stage)
    if stuck:
        verdict.stuck.append(stuck)
    runs = stage.rows("SELECT status, ended_at FROM runs ORDER BY rowid")
    wanted = 2 if stage.shape.then == "fork" else 1
    completed = len(runs) == wanted and all(run["status"] == "completed" for run in runs)
    missing = [name for name, times in effects.items() if counts[name] < times]
    if completed:
        for name in missing:
            text = f"{name} happened {counts[name]} times, and the run is completed"
            if _approved(stage, name):
                verdict.lost.append(text)
            elif not change.ends:
                verdict.untrue.append(text)
    elif not stuck:
        allowed = ("completed", *change.ends_of(stage.shape))
        others = [str(run["status"]) for run in runs if run["status"] not in allowed]
        verdict.untrue += [f"the run is {status}" for status in others]
    for row in stage.rows(DOUBTFUL):
        name = json.loads(str(row["args"])).get("name")
        verdict.untrue.append(f"{row['capability']} {name} is {row['status']} to the end")
    for row in stage.rows("SELECT key, first_key, capability, status, args FROM effects"):
        name = json.loads(str(row["args"])).get("name")
        took_place = bool({row["key"], row["first_key"]} & there)
        if not str(row["capability"]).startswith("desk.") or row["capability"] == BROKEN:
            continue
        if row["status"] == "done" and not took_place:
            verdict.untrue.append(f"{name} is on record as done, and did not happen")
        if row["status"] == "failed" and took_place:
            verdict.untrue.append(f"{name} is on record as failed, and happened")


def _approved(stage: WorldStage, name: str) -> bool:
    """Say whether a person approved an effect, or it was begun; a chain that is made sends nothing."""
    shown = stage.rows("SELECT shown FROM gates WHERE status = 'approved'")
    begun = stage.rows("SELECT args AS shown FROM effects WHERE capability LIKE 'desk.%'")
    return any(json.dumps(name) in str(row["shown"]) for row in (*shown, *begun))


def _noticed(stage: WorldStage) -> list[str]:
    """Name what is other, by the records of the program."""
    parts = {part for row in stage.rows(PARTS) for part in json.loads(str(row["data"]))["parts"]}
    if stage.rows(OWNERS, f"{HOST_NAME}:%"):
        parts.add("host")
    if stage.rows(UNBELIEVED):
        parts.add("clock")
    return sorted(parts)
