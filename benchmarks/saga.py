"""`saga`: ten plans fail at each of their steps, and what they did is undone while processes die.

Every effect is counted by a receiver that knows nothing of runs. In the end what can be undone is undone
once, what builds on a thing before the thing itself, and what cannot is listed with the reason. Each store
has to verify, and each run and undoing to replay equal. Prints a table, writes `saga.json`, and exits with 1
when anything is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.consent_model import Script
from benchmarks.counted_person import Outcome, Person, preload
from benchmarks.counted_shapes import Shape
from benchmarks.counted_stage import THREAD, Stage, fork, join, quick_folder, side_by_side, staged
from planwright.extras.audit.replay import replay_run
from planwright.records.audit.verification import verify_chain
from planwright.store.audit_chain import head
from planwright.store.blobs import Blobs

SLOTS, KILLS, LAST_BOUNDARY = 2, 3, 45
Plan = Mapping[str, tuple[str, ...]]
"""Steps by name, each with those it waits for; the first letter says what it calls."""
CALLS = {"b": "bench.book", "t": "bench.transfer", "s": "bench.stamp"}
PLANS: Mapping[str, Plan] = {
    "a row": {"b1": (), "b2": ("b1",), "b3": ("b2",), "b4": ("b3",)},
    "two rows": {"b1": (), "b2": ("b1",), "b3": (), "b4": ("b3",)},
    "a diamond": {"b1": (), "b2": ("b1",), "b3": ("b1",), "b4": ("b2", "b3")},
    "one for many": {"b1": (), "b2": ("b1",), "b3": ("b1",), "b4": ("b1",), "b5": ("b1",)},
    "many for one": {"b1": (), "b2": (), "b3": (), "b4": (), "b5": ("b1", "b2", "b3", "b4")},
    "a row with a stamp": {"b1": (), "s2": ("b1",), "b3": ("s2",), "b4": ("b3",)},
    "a row with a transfer": {"b1": (), "b2": ("b1",), "t3": ("b2",), "b4": ("t3",)},
    "side by side": {f"b{n}": () for n in range(1, 7)},
    "a ladder": {"b1": (), "b2": ("b1",), "b3": ("b1",), "b4": ("b2",), "b5": ("b3",), "b6": ("b4", "b5")},
    "a tree": {"b1": (), "s2": ("b1",), "t3": ("b1",), "b4": ("s2", "t3"), "b5": ("b1",), "b6": ("b4", "b5")},
}


@dataclass(frozen=True)
class Saga:
    """One trial: a plan, the step that fails, and the boundaries at which undoing processes are killed."""

    plan: str
    fails: str
    kills: tuple[int, ...]


@dataclass
class Judged:
    """What became of one trial."""

    saga: dict[str, Any]
    done: int = 0
    undone: int = 0
    listed: int = 0
    killed: int = 0
    replayed: int = 0
    wrong: list[str] = field(default_factory=list)


class Undoer(Person):
    """Somebody who does not accept a run that failed, and has it undone."""

    def _answer(self, gate: Mapping[str, Any]) -> dict[str, Any]:
        if gate["kind"] == "escalation":
            return {"gate_id": gate["gate_id"], "decided_by": "kim", "type": "reject"}
        return super()._answer(gate)


def sagas(seed: int, kills: int) -> Iterator[Saga]:
    """Let each plan fail at each of its steps, and never."""
    for name, plan in PLANS.items():
        for fails in ("", *plan):
            drawn = random.Random(f"{seed}:{name}:{fails}")
            yield Saga(name, fails, tuple(drawn.randrange(1, LAST_BOUNDARY) for _ in range(kills)))


def shape_of(saga: Saga) -> Shape:
    """Write the plan as the planner of its run says it."""
    plan = PLANS[saga.plan]
    steps = [
        {
            "id": name,
            "capability": "bench.fail" if name == saga.fails else CALLS[name[0]],
            "params": {"name": name},
            "depends_on": list(needs),
        }
        for name, needs in plan.items()
    ]
    script = Script(f"Carry out {saga.plan}", (), plan={"goal": saga.plan, "steps": steps}, jobs={})
    return Shape(saga.plan, script, "always", {}, then="undo", settings={"planning": {"replan_budget": 0}})


def trial(saga: Saga, folder: Path) -> dict[str, Any]:
    """Play one trial in a folder made for it."""
    judged = Judged(asdict(saga))
    with staged(shape_of(saga), folder, fresh=False) as stage:
        first = _lead(stage, 0, then="")
        done = [one.name for one in stage.receiver.happened()]
        judged.done = len(done)
        if not first.ended:
            judged.wrong.append(f"the run does not end: {first.problem or first.refusals}")
        elif done:
            for boundary in saga.kills:
                judged.killed += _lead(stage, boundary, then="undo").problem == "killed"
            _judge(stage, saga, done, _lead(stage, 0, then="undo"), judged)
    return asdict(judged)


def _lead(stage: Stage, boundary: int, then: str) -> Outcome:
    """Lead all to its end in a process of its own; it dies at its n-th boundary, or lives (0)."""
    place, seen = stage.workspace.parent / "outcome.json", [0]
    place.unlink(missing_ok=True)

    def trap(name: str) -> None:
        seen[0] += 1
        if seen[0] == boundary:
            os.kill(os.getpid(), signal.SIGKILL)

    def work() -> None:
        shape = Shape(**{**vars(stage.shape), "then": then})
        agent = stage.open(trap)
        outcome = Undoer(Stage(**{**vars(stage), "shape": shape}), agent).lead()
        if then and not boundary:
            items = agent.loop.call(lambda: agent.undoing.look(THREAD))
            reasons = {item.name: item.why_not for item in items if item.step is None}
            (place.parent / "listed.json").write_text(json.dumps(reasons))
        place.write_text(json.dumps(asdict(outcome)))
        agent.close()

    if join(fork(work)) == -signal.SIGKILL:
        return Outcome(problem="killed")
    return Outcome(**json.loads(place.read_text())) if place.exists() else Outcome(problem="it died")


def _judge(stage: Stage, saga: Saga, done: Sequence[str], last: Outcome, judged: Judged) -> None:
    """Compare what the receiver has counted with what was done, and what is on record with itself."""
    if not last.ended:
        judged.wrong.append(f"the undoing does not end: {last.problem or last.refusals}")
        return
    judge_order(PLANS[saga.plan], done, [one.name for one in stage.receiver.happened()], judged)
    listed = json.loads((stage.workspace.parent / "listed.json").read_text())
    staying = {name.split()[0] for name, why in listed.items() if not why.startswith("it was undone")}
    judged.listed = len(staying)
    if staying != {name for name in done if name[0] != "b"} or len(listed) != len(done):
        judged.wrong.append(f"{listed} are listed of {done}")
    judged.replayed = _replay(stage, judged.wrong)


def judge_order(plan: Plan, done: Sequence[str], names: Sequence[str], judged: Judged) -> None:
    """Say what is wrong with the names that a receiver has counted, in their order."""
    undone = [name.removeprefix("not ") for name in names if name.startswith("not ")]
    to_undo = [name for name in done if name[0] == "b"]
    judged.undone = len(undone)
    if list(names[: len(done)]) != list(done) or len(names) != len(done) + len(undone):
        judged.wrong.append(f"something else happened: {names}")
    if sorted(undone) != sorted(to_undo):
        judged.wrong.append(f"undone {undone} of {to_undo}")
    early = [(a, b) for a in undone for b in undone if a in _before(plan, b)]
    judged.wrong += [f"{a} was undone before {b}" for a, b in early if undone.index(a) < undone.index(b)]


def _before(plan: Plan, name: str) -> set[str]:
    """Name all that a step builds on."""
    return {*plan[name], *(earlier for need in plan[name] for earlier in _before(plan, need))}


def _replay(stage: Stage, wrong: list[str]) -> int:
    """Verify the store, and replay its runs; return how many were equal."""
    path = stage.store / "planwright.db"
    equal = 0
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        wrong += [finding.problem for finding in verify_chain(connection, [head(connection)])[0]]
        for (run_id,) in connection.execute("SELECT run_id FROM runs").fetchall():
            replay = replay_run(connection, Blobs(path.parent / "blobs"), run_id)
            equal += replay.equal
            wrong += replay.differences
    return equal


def main() -> int:
    """Run the sweep and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.saga", description=__doc__)
    parser.add_argument("--kills", type=int, default=KILLS, help="how often each undoing is killed")
    parser.add_argument("--rounds", type=int, default=3, help="how often all of it is tried")
    parser.add_argument("--plans", type=int, default=len(PLANS), help="how many of the ten plans")
    parser.add_argument("--json", type=Path, default=Path("saga.json"), help="where the figures go")
    options = parser.parse_args()
    preload()
    some = list(PLANS)[: options.plans]
    drawn = [saga for seed in range(options.rounds) for saga in sagas(seed, options.kills)]
    works = (partial(trial, saga) for saga in drawn if saga.plan in some)
    with tempfile.TemporaryDirectory(prefix="saga-", dir=quick_folder()) as place:
        results = side_by_side(works, Path(place), lambda done, running: True, SLOTS)
    bad = [result for result in results if result["wrong"]]
    names = ("done", "undone", "listed", "killed", "replayed")
    figures = {name: sum(result[name] for result in results) for name in names}
    options.json.write_text(json.dumps({"trials": len(results), **figures, "bad": bad}, indent=2) + "\n")
    table = Table("trials", *names, "bad")
    table.add_row(str(len(results)), *(str(figures[name]) for name in names), str(len(bad)))
    console = Console()
    console.print(table)
    for result in bad[:20]:
        console.print(json.dumps(result)[:1000], markup=False, highlight=False)
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
