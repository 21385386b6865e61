"""One run that dies at a system call, whose recovery may die, too; then it goes on to its end and is judged.

Each process is led by a person who knows no more than what is on record and what the receiver says.
"""

from __future__ import annotations

import json
import os
import random
import signal
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.counted_person import Outcome, Person
from benchmarks.counted_shapes import SHAPES
from benchmarks.counted_stage import Stage, fork, join, rows_of, staged
from benchmarks.counted_verdict import effects_wrong, ends_wrong

SOURCE = Path(__file__).with_name("crash_calls.c")
CALL, LOG = "CRASH_CALL", "CRASH_LOG"
KINDS = {"w": "write", "s": "sync", "n": "name", "t": "transmit"}
WHENS = {"b": "before", "m": "midway", "a": "after"}
TWICE = """
SELECT 1 FROM gates WHERE kind != 'escalation' AND status != 'open'
GROUP BY run_id, step_uid, shown_hash HAVING count(*) > 1
"""
Counts = Mapping[str, int]


@dataclass(frozen=True)
class Kill:
    """Where a process dies: before, midway or after its n-th call of a kind. At 0 it only counts calls."""

    at: int
    kind: str = "*"
    when: str = "b"

    def arm(self, folder: Path, log: Path) -> None:
        """Let this process die there, and note the call. Call it before any thread runs."""
        os.environ[LOG] = str(log)
        os.environ[CALL] = f"{self.at}:{self.when}:{self.kind}:{folder}/"


@dataclass(frozen=True)
class Draw:
    """Which run, and where its processes die, one after another."""

    shape: str
    kills: tuple[Kill, ...]


@dataclass
class Trial:
    """One run, judged. `killed` names the calls at which its processes died."""

    shape: str
    draw: dict[str, Any]
    calls: Counts = field(default_factory=dict)
    killed: list[str] = field(default_factory=list)
    doubts: int = 0
    doubled: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    false_doubts: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def draws(calls: Mapping[str, Counts], kills: int, seed: int) -> Iterator[Draw]:
    """Draw without end, shapes in turn, any kind of call; `calls` says how many a whole run makes of each.

    A second kill is drawn from as many calls as the first one left, for its run may need no more.
    """
    number = 0
    while True:
        drawn = random.Random(f"{seed}:{kills}:{number}")
        shape = list(calls)[number % len(calls)]
        left, chosen = 1.0, []
        for _ in range(kills):
            kind = drawn.choice(list(calls[shape]))
            place = drawn.random()
            when = drawn.choice("bma" if kind in "wt" else "ba")
            chosen.append(Kill(1 + int(place * left * calls[shape][kind]), kind, when))
            left *= 1 - place
        yield Draw(shape, tuple(chosen))
        number += 1


def play(draw: Draw, folder: Path) -> dict[str, Any]:
    """Run, kill, recover to the end and judge, in a folder made for it."""
    trial = Trial(draw.shape, asdict(draw))
    with staged(SHAPES[draw.shape], folder) as stage:
        open_: set[str] = set()
        outcome: Outcome | None = None
        for kill in draw.kills:
            outcome, noted = _led(stage, kill, f"process {len(trial.killed)}")
            if outcome is not None:
                trial.calls = dict(Counter(call[0] for call in noted)) if not kill.at else {}
                break
            stage.receiver.happened("quiet")
            trial.killed.append(f"{WHENS[kill.when]} {noted[-1]}" if noted else "unknown")
            open_ |= {row["key"] for row in stage.rows("SELECT key FROM effects WHERE status != 'done'")}
        if outcome is None:
            outcome, _ = _led(stage, None, "the last")
        judge(stage, outcome or Outcome(problem="it died"), open_, trial)
    return asdict(trial)


def _led(stage: Stage, kill: Kill | None, process: str) -> tuple[Outcome | None, Sequence[str]]:
    """Lead the run in a process that may die; return how far it came, None where it died, and noted calls."""
    place = stage.workspace.parent
    report, log = place / "report.json", place / "calls.txt"
    report.unlink(missing_ok=True)
    log.unlink(missing_ok=True)

    def work() -> None:
        outcome = Outcome()
        if kill:
            kill.arm(stage.workspace, log)
        try:
            agent = stage.open()
            Person(stage, agent, process, patience=1, outcome=outcome).lead()
            agent.close()
        except Exception:  # noqa: BLE001 - whatever a run raises is a finding
            outcome.problem = traceback.format_exc(limit=-3)
        os.environ.pop(CALL, None)
        report.write_text(json.dumps(asdict(outcome)))

    code = join(fork(work))
    noted = log.read_text().splitlines() if log.exists() else []
    if kill and code == -signal.SIGKILL:
        return None, noted
    if not report.exists():
        return Outcome(problem=f"{process} ended with {code}"), noted
    return Outcome(**json.loads(report.read_text())), noted


def judge(stage: Stage, last: Outcome, open_: set[str], trial: Trial) -> None:
    """Compare effects, questions, records and ends with what should be."""
    trial.doubled, trial.lost, left = effects_wrong(stage)
    gates = stage.rows("SELECT shown, status FROM gates")
    asked = [one for gate in gates for one in _doubts(gate["shown"])]
    answered = Counter(
        one["key"] for gate in gates if gate["status"] != "open" for one in _doubts(gate["shown"])
    )
    trial.doubts = len(answered)
    blind = {row["key"] for row in stage.rows("SELECT key FROM effects WHERE effect = 'blind'")}
    names = {one["key"]: one["args"]["name"] for one in asked}
    trial.false_doubts = [name for key, name in names.items() if key not in blind & open_]
    trial.stuck = [] if last.ended else [last.problem or str(last.refusals)]
    if not last.ended:
        return
    trial.wrong += ends_wrong(stage, last)
    trial.wrong += [f"left in doubt: {name}" for name in left]
    trial.wrong += ["a gate is asked twice"] * len(stage.rows(TWICE))
    again = (names[key] for key, times in answered.items() if times > 1)
    trial.wrong += [f"asked twice whether it happened: {name}" for name in again]
    trial.wrong += ["a gate is left open"] * len(stage.rows("SELECT 1 FROM gates WHERE status = 'open'"))
    for path in (stage.store / "planwright.db",):
        if rows_of(path, "PRAGMA integrity_check") != [{"integrity_check": "ok"}]:
            trial.wrong.append(f"{path.name} is damaged")


def _doubts(shown: str) -> list[dict[str, Any]]:
    content = json.loads(shown)
    return list(content["effects"]) if content.get("in_doubt") else []
