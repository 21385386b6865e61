"""kill -9 at system calls of a run, then the world changes; a person goes on, and effects are counted.

Policy, capabilities, settings, prompts, program, host or clock are other than before, or a backup is put
back. All is done by commands, as a person gives them. A receiver that knows nothing of runs counts effects.
Prints tables, writes `changed_world.json`, and exits with 1 when an effect was lost or doubled, or had no
end on record when its run ended; when a card did not name an effect in doubt; or when a
run did not end, or its end is not true.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.counted_stage import quick_folder, side_by_side
from benchmarks.crash_calls_trial import Kill
from benchmarks.storage_faults import compiler, loaded, start_again
from benchmarks.world_changes import CHANGES
from benchmarks.world_files import CLASSES, SENT, EffectClass
from benchmarks.world_shapes import SHAPES
from benchmarks.world_stage import preload
from benchmarks.world_trial import Case, Point, play
from benchmarks.world_verdict import BARS

SOURCE = Path(__file__).with_suffix(".c")
SLOTS, EVERY = 2, 50
SHORT = (
    "a fork/nothing/blind/3:t2a",
    "a chain step/rule added/blind/1:t2a",
    "a plain step/rule removed/blind/1:t2a",
    "an agentic step/comment/blind/2:t2a",
    "a chain in a loop/code/keyed/1:t2a",
    "a step beside a gate/argument/blind/1:t2a",
    "a loop/mode/blind/2:t2a",
    "an alternative/risk/queryable/1:t6a",
    "a retry/settings/keyed/1:t2a",
    "another plan/prompts/blind/1:t2a",
    "an edit/tool gone/blind/2:t2a",
    "a step gate/tool renamed/keyed/2:t2a",
    "steps at once/version/blind/1:t6a",
    "an agentic step/host/keyed/3:t2a",
    "a loop/a day on/queryable/1:t4a",
    "a step gate/a day back/blind/3:t2a",
    "a sub-agent/backup restored/blind/2:t2a",
)
AROUND = (-3, 8)  # calls from the commit of an intent to that of its end
PARTS = 2  # in which a request is transmitted: its head, and what is sent
Calls = Sequence[Sequence[str]]
Cell = tuple[str, str, EffectClass]
Trials = Sequence[Mapping[str, Any]]


def main() -> int:
    """Run the sweep, in a process whose calls are counted, and return its exit code."""
    options = _options()
    if not compiler():
        print("skipped: there is no C compiler to make the trap with; install gcc or clang")
        return 0
    with tempfile.TemporaryDirectory(prefix="changed-world-", dir=quick_folder()) as place:
        if not loaded(SOURCE):
            return start_again(Path(place), ["benchmarks.changed_world", *sys.argv[1:]], SOURCE)
        return sweep(options, Path(place))


def sweep(options: argparse.Namespace, folder: Path) -> int:
    """Measure each shape, kill it in each world, and write the figures down."""
    started = time.perf_counter()
    preload()
    if named := options.case or (SHORT if options.short else ()):
        trials = _played([Case.read(text) for text in named], folder)
    else:
        cells = [
            (shape, change, effect)
            for shape in options.shape or SHAPES
            for change in options.change or CHANGES
            for effect in options.effect or CLASSES
        ]
        unkilled = {(shape, _measured(change), effect): None for shape, change, effect in cells}
        whole = _played([Case(*cell, ()) for cell in unkilled], folder)
        by_case = {trial["case"]: trial["calls"] for trial in whole}
        calls = {cell: by_case[str(Case(*cell, ()))] for cell in unkilled}
        trials = [*whole, *_played(list(drawn(calls, cells, options.kills, options.seed)), folder)]
    figures = {**figures_of(trials), "seed": options.seed}
    figures["seconds"] = round(time.perf_counter() - started, 1)
    bad = [trial for trial in trials if _is_bad(trial)]
    options.json.write_text(json.dumps({**figures, "bad": bad}, indent=2) + "\n")
    _print(Console(width=130), trials, bad, figures, said=bool(options.case))
    return int(bool(bad))


def drawn(calls: Mapping[Cell, Calls], cells: Sequence[Cell], kills: int, seed: int) -> Iterator[Case]:
    """Draw so many deaths for each cell: in turn when an effect has arrived, around one, and anywhere.

    A quarter die a second time, when they go on.
    """
    for number in range(kills):
        for shape, change, effect in cells:
            chance = random.Random(f"{seed}:{number}:{shape}:{change}:{effect}")
            noted = calls[shape, _measured(change), effect]
            first = 1 if CHANGES[change].restores else 0  # a backup is taken of a store that is there
            points = [_point(noted, chance, number % 3, first)]
            if chance.random() < 1 / 4:
                again = Kill(1 + int(chance.random() ** 2 * 30), chance.choice("wstn"), "a")
                points.append(Point(points[0].command + 1, again))
            yield Case(shape, change, effect, tuple(points))


def _measured(change: str) -> str:
    """Name the change whose first world is that of another, and in which calls are counted."""
    return change if CHANGES[change].before else "nothing"


def _point(noted: Calls, chance: random.Random, where: int, first: int) -> Point:
    """Choose a call of the `first` command or a later one.

    `where` is 0 for an effect that has arrived, 1 for somewhere around one, 2 for anywhere.
    """
    sent = [
        (number, place)
        for number, calls in enumerate(noted)
        for place, call in enumerate(calls)
        if number >= first and call.startswith("w ") and call.endswith(f" {SENT}")
    ]
    if where == 2 or not sent:
        command = chance.choice([number for number, calls in enumerate(noted) if calls and number >= first])
        return _at(noted, command, chance.randrange(len(noted[command])), chance)
    command, place = chance.choice(sent)
    if where == 1:
        at = min(max(place + chance.randint(*AROUND), 0), len(noted[command]) - 1)
        return _at(noted, command, at, chance)
    before = sum(call[0] == "t" for call in noted[command][:place])
    return Point(command, Kill(before + PARTS, "t", "a"))


def _at(noted: Calls, command: int, at: int, chance: random.Random) -> Point:
    kind = noted[command][at][0]
    nth = sum(call[0] == kind for call in noted[command][: at + 1])
    return Point(command, Kill(nth, kind, chance.choice("bma" if kind in "wt" else "ba")))


def _played(cases: Sequence[Case], folder: Path) -> list[dict[str, Any]]:
    """Play cases side by side, and tell on stderr how far it is, and what is bad."""
    began, told = time.monotonic(), 0

    def more(done: list[Any], running: int) -> bool:
        nonlocal told
        for trial in done[told:]:
            told += 1
            if _is_bad(trial):
                print(_line(trial), file=sys.stderr, flush=True)
            if told % EVERY == 0:
                seconds = time.monotonic() - began
                print(f"{told} of {len(cases)} played, {seconds:.0f} s", file=sys.stderr, flush=True)
        return True

    return side_by_side((partial(play, case) for case in cases), folder, more, SLOTS)


def _line(trial: Mapping[str, Any]) -> str:
    """Say what is wrong with a trial, and how to play it alone."""
    wrong = "; ".join(f"{name}: {', '.join(trial[name])}" for name in BARS if trial[name])
    return f"--case '{trial['case']}'  {' '.join(wrong.split())[:400]}"


def _is_bad(trial: Mapping[str, Any]) -> bool:
    return any(trial[name] for name in BARS)


def figures_of(trials: Trials) -> dict[str, Any]:
    """Count kills, doubts, and whatever went wrong, by trials."""
    killed = [trial for trial in trials if trial["killed"]]
    return {
        "kills": sum(len(trial["killed"]) for trial in trials),
        "killed_runs": len(killed),
        "killed_twice": sum(len(trial["killed"]) > 1 for trial in killed),
        "killed_in_effects": sum(bool(trial["begun"]) for trial in killed),
        "asked": sum(bool(trial["asked"]) for trial in killed),
        "commands": sum(trial["commands"] for trial in trials),
        **{name: sum(bool(trial[name]) for trial in trials) for name in BARS},
        "noticed": sorted({part for trial in trials for part in trial["noticed"]}),
        "bad_runs": sum(_is_bad(trial) for trial in trials),
    }


def _print(console: Console, trials: Trials, bad: Trials, figures: Mapping[str, Any], *, said: bool) -> None:
    for place, title, names in ((0, "shape", SHAPES), (1, "change", CHANGES), (2, "effects", CLASSES)):
        table = Table(title, "killed", "in effects", "asked", *BARS)
        for name in names:
            part = [trial for trial in trials if trial["case"].split("/")[place] == name and trial["killed"]]
            count = figures_of(part)
            columns = ("killed_runs", "killed_in_effects", "asked", *BARS)
            if part:
                table.add_row(name, *(str(count[column]) for column in columns))
        console.print(table)
    for trial in bad:
        console.print(_line(trial), markup=False, highlight=False, soft_wrap=True)
        if said:
            console.print("\n".join(trial["said"]), markup=False, highlight=False, soft_wrap=True)
    console.print(json.dumps(figures), markup=False, highlight=False, soft_wrap=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.changed_world", description=__doc__)
    parser.add_argument("--kills", type=int, default=3, help="how many for each shape, change and class")
    parser.add_argument("--shape", action="append", choices=list(SHAPES), help="only these; all without")
    parser.add_argument("--change", action="append", choices=list(CHANGES), help="only these; all without")
    parser.add_argument("--effect", action="append", choices=CLASSES, help="only these; all without")
    parser.add_argument("--case", action="append", help="play this one alone, as it is printed")
    parser.add_argument("--short", action="store_true", help="each shape and each change once")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the points")
    parser.add_argument("--json", type=Path, default=Path("changed_world.json"), help="where the figures go")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
