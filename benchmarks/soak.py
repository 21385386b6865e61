"""Ten minutes of random requests, gates, cancels and kills over one store, one worker paused now and then.

Processes are real, and so is the receiver that counts effects. At the end everything has to have ended;
then a judge that shares nothing with the product compares ledger, receiver, journal, runs, steps and
checkpoints row by row, and `planwright db check` looks, too. Prints tables, writes `soak.json`, and exits
with 1 when anything disagrees.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.counted_person import preload
from benchmarks.counted_shapes import QUORUM, Shape
from benchmarks.counted_stage import Stage, fork, join, quick_folder
from benchmarks.counting_receiver import receiving
from benchmarks.soak_hands import Hand, Role, note, noted, over
from benchmarks.soak_judge import disagreements
from benchmarks.soak_records import Records, read_records
from benchmarks.soak_requests import Desk
from planwright.cli.main import main as main_of_planwright

LEASE_S, BUSY_S, DELAY_S, PATIENCE_S = 2.0, 4.0, 0.05, 300
TROUBLE = ("kill", "kill", "kill", "stop", "nothing")


@dataclass
class Troop:
    """The processes of a soak: some workers and one person; whoever is killed is followed by another."""

    stage: Stage
    seed: int
    lasts_s: float
    living: dict[int, Role] = field(default_factory=dict)
    stopped: dict[int, float] = field(default_factory=dict)
    started: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def start(self, role: Role) -> int:
        """Fork a process of a role."""
        self.started += 1
        pid = fork(partial(_work, self.stage, self.seed, self.started, role), int(self.lasts_s) + PATIENCE_S)
        self.living[pid] = role
        return pid

    def trouble(self, chance: random.Random) -> None:
        """Do something to somebody, and wake who has slept long enough."""
        for pid in [pid for pid, until in self.stopped.items() if time.monotonic() >= until]:
            del self.stopped[pid]
            os.kill(pid, signal.SIGCONT)
        pid, what = chance.choice(list(self.living)), chance.choice(TROUBLE)
        if what == "stop" and not self.stopped:
            os.kill(pid, signal.SIGSTOP)
            self.stopped[pid] = time.monotonic() + chance.uniform(1.5, 4) * LEASE_S
            self.counts["stopped"] += 1
        elif what == "kill":
            self.stopped.pop(pid, None)
            os.kill(pid, signal.SIGKILL)
            role = self.living.pop(pid)
            join(pid)
            self.counts["killed"] += 1
            self.start(role)
        for role in self.reap():
            self.start(role)

    def reap(self) -> list[Role]:
        """Note who has ended without being killed, and return their roles."""
        ended: list[Role] = []
        for pid in list(self.living):
            if (status := os.waitpid(pid, os.WNOHANG))[0]:
                ended.append(self.living.pop(pid))
                self.stopped.pop(pid, None)
                self.wrong.append(f"a {ended[-1]} ended with {os.waitstatus_to_exitcode(status[1])}")
        return ended

    def rest(self) -> None:
        """Wake who sleeps, let everybody end, and have a last one lead everything to its end."""
        for pid in self.stopped:
            os.kill(pid, signal.SIGCONT)
        over(self.stage).touch()
        self.wrong += [f"a process ended with {code}" for pid in self.living if (code := join(pid))]
        if code := join(self.start("last")):
            self.wrong.append(f"not everything has ended: the last process ended with {code}")


def main() -> int:
    """Soak and return the exit code."""
    options = _options()
    preload()
    with tempfile.TemporaryDirectory(prefix="soak-", dir=quick_folder()) as place:
        try:
            figures = soak(options, Path(place))
        finally:
            if options.keep:
                shutil.copytree(place, options.keep, dirs_exist_ok=True)
    options.json.write_text(json.dumps(figures, indent=2) + "\n")
    _print(Console(), figures)
    return int(bool(figures["wrong"]))


def soak(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Soak for the time that is asked for, then judge; leaves store and arrivals in the folder."""
    began = time.monotonic()
    with receiving(Desk(options.seed), delay_s=DELAY_S) as receiver:
        shape = Shape("a soak", Desk(options.seed), "auto", {}, policy=QUORUM)
        stage = Stage(folder / "workspace", receiver, shape, LEASE_S, BUSY_S)
        stage.prepare()
        join(fork(stage.create_store))
        note(stage, "begin")
        troop, chance = Troop(stage, options.seed, 60 * options.minutes), random.Random(options.seed)
        for role in ("person", *["worker"] * options.workers):
            troop.start("person" if role == "person" else "worker")
        while time.monotonic() - began < 60 * options.minutes:
            time.sleep(chance.uniform(0.5, 1.5) * options.every)
            troop.trouble(chance)
        troop.rest()
        arrivals = receiver.happened()
    (folder / "arrivals.json").write_text(json.dumps([[one.name, one.key] for one in arrivals]))
    figures = _figures(troop, read_records(stage.store, [(one.name, one.key) for one in arrivals]))
    return {"seed": options.seed, "seconds": round(time.monotonic() - began, 1), **figures}


def _work(stage: Stage, seed: int, number: int, role: Role) -> None:
    agent = stage.open()
    Hand(stage, agent, seed, number, role).work()
    agent.close()


def _checked(stage: Stage) -> list[str]:
    """Run `planwright db check` in a process of its own; list what it says is wrong."""

    def check() -> None:
        os.chdir(stage.workspace)
        with shown.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        sys.argv = ["planwright", "db", "check"]
        try:
            main_of_planwright()
        except SystemExit as end:
            (folder / "db_check.code").write_text(str(end.code or 0))

    folder = stage.workspace.parent
    shown = folder / "db_check.txt"
    join(fork(check))
    code = int((folder / "db_check.code").read_text())
    return [] if code == 0 else [f"planwright db check: {shown.read_text()}"]


def _figures(troop: Troop, records: Records) -> dict[str, Any]:
    """Judge, and sum up what was done and what there is."""
    lines = noted(troop.stage)
    errors = [line["wrong"] for line in lines if "wrong" in line]
    wrong = [*troop.wrong, *(f"an error of no class of ours: {one}" for one in errors)]
    wrong += [*disagreements(records), *_checked(troop.stage)]
    return {
        **{name: dict(sorted(counter.items())) for name, counter in _counters(lines, records).items()},
        "processes": troop.started,
        **troop.counts,
        "rows": {name: len(rows) for name, rows in sorted(records.tables.items())},
        "arrivals": len(records.arrivals),
        "wrong": wrong,
    }


def _counters(lines: Sequence[dict[str, str]], records: Records) -> dict[str, Counter[str]]:
    return {
        "done": Counter(line["what"] for line in lines if not {"refused", "wrong"} & set(line)),
        "refused": Counter(line["what"] for line in lines if "refused" in line),
        "runs": Counter(run["status"] for run in records.tables["runs"]),
        "effects": Counter(effect["status"] for effect in records.tables["effects"]),
        "gates": Counter(gate["status"] for gate in records.tables["gates"]),
    }


def _print(console: Console, figures: dict[str, Any]) -> None:
    table = Table("what", "how often", title=f"{figures['seconds']} s, {figures['processes']} processes")
    for name in ("done", "refused", "runs", "effects", "gates", "rows"):
        table.add_row(name, ", ".join(f"{what} {count}" for what, count in figures[name].items()))
    console.print(table)
    for one in figures["wrong"][:30]:
        console.print(one, style="red", markup=False, highlight=False, soft_wrap=True)
    console.print(
        f"{figures.get('killed', 0)} kills, {figures.get('stopped', 0)} stops,"
        f" {figures['arrivals']} effects counted, {len(figures['wrong'])} disagreements"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="how long there is trouble")
    parser.add_argument("--workers", type=int, default=3, help="how many processes beside the person")
    parser.add_argument("--every", type=float, default=1.5, help="seconds between two troubles, on average")
    parser.add_argument("--seed", type=int, default=0, help="the seed of requests, choices and troubles")
    parser.add_argument("--keep", type=Path, help="a new folder that store and arrivals stay in")
    parser.add_argument("--json", type=Path, default=Path("soak.json"), help="where the figures go")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
