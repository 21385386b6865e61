"""`corruptions`: damage a real store in seeded ways, and open it through the command line.

The store holds finished runs and one that waits. Each damaged copy is opened by `db check`, `ls`, `show` and
`resume`. Good outcomes: the answers are those of the whole store, or a clear error or a finding of `db check`
tells of the damage. Bad ones: a traceback, a hang, code of a forged checkpoint that was run, an
effect that nobody approved. Left over: an answer that differs and nothing that tells of it. Prints a table,
writes `corruptions.json`, and exits with 1 on any bad outcome.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import os
import random
import shutil
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from benchmarks.canary_class import CANARY
from benchmarks.damage import DAMAGES, FILES
from planwright.cli import main as command_line
from planwright.cli import refusal
from planwright.cli.session import drive
from planwright.cli.views import db_views, run_list, run_views
from planwright.extras.demo.workspace import write_workspace
from planwright.graph.building import build_graph
from planwright.settings.settings import load

TRIALS, HANG_S, AT_ONCE = 1000, 120.0, 2
UNAPPROVED = "waiting.md"
GOOD = ("harmless", "detected")
APPROVE: Command[Any] = Command(resume={"decisions": [{"type": "approve"}]})
LOADED = (db_views, drive, run_views, refusal, run_list)  # once, and not by each process
_CONTEXT = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class World:
    """A workspace with a store, its threads, its earlier moments, and what commands answer about it."""

    folder: Path
    commands: dict[str, list[str]]
    earlier: Path
    answers: dict[str, tuple[int, str]]


@dataclass(frozen=True)
class Trial:
    """One damaged copy: what was done to it, and what came of it."""

    seed: int
    kind: str
    what: str
    outcome: str
    detail: str = ""


def build_world(place: Path) -> World:
    """Run two requests to their end and one to its gate, and keep the moments in between."""
    folder, earlier = place / "desk", place / "earlier"
    write_workspace(folder)
    store, threads = folder / ".planwright", ["thread-1", "thread-2", "thread-3"]
    agent = build_graph(load(folder))
    try:
        _ask(agent, threads[0], "Save hello to note.md")
        _moment(store, earlier / "waiting")
        agent.invoke(APPROVE, _config(threads[0]))
        _moment(store, earlier / "finished")
        _ask(agent, threads[1], "Remember that invoices go to Ada")
        if agent.get_state(_config(threads[1])).next:
            agent.invoke(APPROVE, _config(threads[1]))
        _moment(store, earlier / "remembered")
        _ask(agent, threads[2], f"Save hi to {UNAPPROVED}")
        unclosed = store / "unclosed"
        unclosed.mkdir()
        for name in (f"{file}{side}" for file in FILES for side in ("", "-wal", "-shm")):
            shutil.copy(store / name, unclosed / name)
    finally:
        agent.close()
    commands = {
        "check": ["db", "check", "--json"],
        "ls": ["ls", "--json"],
        "show": ["show", threads[0], "--json"],
        "show waiting": ["show", threads[2], "--json"],
        "resume": ["resume", threads[2], "--json", "--no-input"],
    }
    copy = place / "whole"
    shutil.copytree(folder, copy)
    here, there = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=_answer, args=(copy, commands, there))
    process.start()
    answers = {name: (code, out) for name, (code, out, _) in here.recv().items()}
    process.join()
    return World(folder, commands, earlier, answers)


def _answer(folder: Path, commands: dict[str, list[str]], there: Any) -> None:
    there.send(_play(folder, commands))


def _ask(agent: Any, thread: str, request: str) -> None:
    agent.invoke({"messages": [{"role": "user", "content": request}]}, _config(thread))


def _config(thread: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread}}


def _moment(store: Path, to: Path) -> None:
    """Keep both files as they are now, without their logs."""
    to.mkdir(parents=True)
    for name in FILES:
        with closing(sqlite3.connect(store / name)) as source, closing(sqlite3.connect(to / name)) as target:
            source.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")


def _play(folder: Path, commands: dict[str, list[str]]) -> dict[str, tuple[int, str, str]]:
    """Run commands in a workspace, in this process, and return exit code, stdout and stderr of each."""
    os.chdir(folder)
    played = {}
    for name, words in commands.items():
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            sys.argv = ["planwright", *words]
            code: Any = 0
            try:
                command_line.main()
            except SystemExit as end:
                code = end.code
            except BaseException as error:  # noqa: BLE001 - as the interpreter does: the hook has the last word
                sys.excepthook(type(error), error, error.__traceback__)
                code = 1
        played[name] = (int(code or 0), out.getvalue(), err.getvalue())
    return played


def try_one(world: World, place: Path, seed: int) -> Trial:
    """Damage a copy of the world, and look what its commands answer."""
    dice = random.Random(seed)
    kind = list(DAMAGES)[seed % len(DAMAGES)]
    folder = place / f"trial-{seed}"
    shutil.copytree(world.folder, folder)
    what = DAMAGES[kind](folder / ".planwright", world.earlier, dice)
    try:
        played = _play(folder, world.commands)
        return Trial(seed, kind, what, *judge(world, folder, played))
    finally:
        os.chdir(place)
        shutil.rmtree(folder)


def judge(world: World, folder: Path, played: dict[str, tuple[int, str, str]]) -> tuple[str, str]:
    """Say what came of it, and which command showed it."""
    if (folder / CANARY).exists():
        return "code run", (folder / CANARY).read_text()
    if (folder / UNAPPROVED).exists():
        return "unapproved effect", ""
    for name, (_, _, err) in played.items():
        if "Traceback" in err:
            return "traceback", f"{name}: {err.strip().splitlines()[-1][:200]}"
    same = {name for name, answer in world.answers.items() if alike(name, played[name][:2], answer)}
    other = [name for name in world.answers if name not in (*same, "check")]
    if not other:
        return "harmless", "found" if played["check"][0] else ""
    silent = [name for name in other if not played[name][2].startswith("error: ")]
    if not silent or played["check"][0] != 0:
        return "detected", "by db check" if silent else "by each command"
    return "unseen", ", ".join(silent)


def alike(name: str, answer: tuple[int, str], whole: tuple[int, str]) -> bool:
    """Say whether an answer is that of the whole store; a run may be led to the same gate a second time."""
    if name != "resume" or answer[0] != whole[0] or not answer[1]:
        return answer == whole
    told, right = json.loads(answer[1]), json.loads(whole[1])
    named = ("run_id", "status", "answer", "gates", "steps", "effects")
    return all(told[part] == right[part] for part in named)


def _in_child(world: World, place: Path, seed: int, answer: Any) -> None:
    answer.send(try_one(world, place, seed))


def sweep(world: World, place: Path, seeds: list[int]) -> list[Trial]:
    """Try all seeds, each in a process of its own, which is ended when it hangs."""
    trials: list[Trial] = []
    waiting = list(reversed(seeds))
    running: list[tuple[int, Any, Any, float]] = []
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            seed = waiting.pop()
            here, there = _CONTEXT.Pipe(duplex=False)
            process = _CONTEXT.Process(target=_in_child, args=(world, place, seed, there))
            process.start()
            there.close()
            running.append((seed, process, here, time.monotonic()))
        multiprocessing.connection.wait([here for _, _, here, _ in running], timeout=1)
        for entry in list(running):
            seed, process, here, began = entry
            late = time.monotonic() - began > HANG_S
            if here.poll() or not process.is_alive() or late:
                trials.append(_end(seed, process, here, late))
                running.remove(entry)
    return trials


def _end(seed: int, process: Any, here: Any, late: bool) -> Trial:
    kind = list(DAMAGES)[seed % len(DAMAGES)]
    try:
        trial: Trial = here.recv()
    except EOFError:
        trial = Trial(seed, kind, "", "ended", f"exit code {process.exitcode}")
    if late and process.is_alive():
        trial = Trial(seed, kind, "", "hang")
        process.kill()
    process.join()
    here.close()
    return trial


def main() -> int:
    """Sweep, print the table, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("corruptions.json"))
    chosen = parser.parse_args()
    out = chosen.out.absolute()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        world = build_world(place)
        assert world.answers["check"][0] == 0, world.answers["check"]
        trials = sweep(world, place, list(range(chosen.seed, chosen.seed + chosen.trials)))
    outcomes = sorted({trial.outcome for trial in trials}, key=lambda one: (one not in GOOD, one))
    print(f"{'damage':<28}" + "".join(f"{one:>12}" for one in outcomes))
    for kind in DAMAGES:
        counted = Counter(trial.outcome for trial in trials if trial.kind == kind)
        print(f"{kind:<28}" + "".join(f"{counted[one]:>12}" for one in outcomes))
    counted = Counter(trial.outcome for trial in trials)
    print(f"{'all':<28}" + "".join(f"{counted[one]:>12}" for one in outcomes))
    bad = [trial for trial in trials if trial.outcome not in (*GOOD, "unseen")]
    for trial in [one for one in trials if one.outcome not in GOOD][:20]:
        print(f"  seed {trial.seed}: {trial.kind} ({trial.what}): {trial.outcome} {trial.detail}")
    out.write_text(
        json.dumps({"outcomes": counted, "trials": [asdict(one) for one in trials]}, indent=1), "utf-8"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
