"""kill -9 at system calls of a run, then the world changes; a person goes on with it, and effects are counted.

Policy, capabilities, settings, prompts, program, host and clock are other after the death than before, or the
store is put back from a backup. All is done by commands, as a person gives them. Effects are counted by a receiver
that knows nothing of runs. Prints tables, writes `changed_world.json`, and exits with 1 when an effect was lost or
doubled without anybody having been told, was begun in a run that has ended, or was in doubt while a card did not
name it, or when a run did not end, or not truly.
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
from benchmarks.world_shapes import SHAPES
from benchmarks.world_stage import CLASSES, SENT, EffectClass, preload
from benchmarks.world_trial import Case, Point, play
from benchmarks.world_verdict import BARS

SOURCE = Path(__file__).with_suffix(".c")
SLOTS, EVERY = 2, 50
AROUND = (-3, 8)  # calls from the commit of an intent to that of its end
Calls = Mapping[tuple[str, str, str], Sequence[Sequence[str]]]
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
    if options.case:
        trials = _played([Case.read(text) for text in options.case], folder)
    else:
        shapes, changes = options.shape or list(SHAPES), options.change or list(CHANGES)
        classes: Sequence[EffectClass] = options.effect or CLASSES
        firsts = {"rule removed": "rule removed"}
        whole = [
            Case(shape, firsts.get(change, "nothing"), effect, ())
            for shape in shapes
            for change in {firsts.get(change, "nothing") for change in changes}
            for effect in classes
        ]
        measured = _played(whole, folder)
        calls = {tuple(trial["case"].split("/")[:3]): trial["calls"] for trial in measured}
        cases = drawn(calls, shapes, changes, classes, options.kills, options.seed)
        trials = [*measured, *_played(list(cases), folder)]
    figures = {**figures_of(trials), "seed": options.seed}
    figures["seconds"] = round(time.perf_counter() - started, 1)
    bad = [trial for trial in trials if _is_bad(trial)]
    options.json.write_text(json.dumps({**figures, "bad": bad}, indent=2) + "\n")
    _print(Console(width=130), trials, bad, figures, said=bool(options.case))
    return int(bool(bad))


def drawn(
    calls: Calls,
    shapes: Sequence[str],
    changes: Sequence[str],
    classes: Sequence[EffectClass],
    kills: int,
    seed: int,
) -> Iterator[Case]:
    """Draw so many deaths for each shape, change and class: most around an effect, a quarter twice."""
    for number in range(kills):
        for shape in shapes:
            for change in changes:
                for effect in classes:
                    first = "rule removed" if change == "rule removed" else "nothing"
                    chance = random.Random(f"{seed}:{number}:{shape}:{change}:{effect}")
                    noted = calls[shape, first, effect]
                    point = _point(noted, chance, backed_up=CHANGES[change].restores)
                    points = [point]
                    if chance.random() < 1 / 4:
                        again = Kill(1 + int(chance.random() ** 2 * 30), chance.choice("wstn"), "a")
                        points.append(Point(point.command + 1, again))
                    yield Case(shape, change, effect, tuple(points))


def _point(noted: Sequence[Sequence[str]], chance: random.Random, *, backed_up: bool) -> Point:
    """Choose a call of a command: four of five within an effect; where a backup is taken, a store is there."""
    commands = [number for number, calls in enumerate(noted) if calls and not (backed_up and number == 0)]
    sent = [
        (number, place)
        for number in commands
        for place, call in enumerate(noted[number])
        if call.startswith("w ") and call.endswith(f" {SENT}")
    ]
    if sent and chance.random() < 4 / 5:
        command, place = chance.choice(sent)
        at = min(max(place + chance.randint(*AROUND), 0), len(noted[command]) - 1)
    else:
        command = chance.choice(commands)
        at = chance.randrange(len(noted[command]))
    kind = noted[command][at][0]
    nth = sum(call[0] == kind for call in noted[command][: at + 1])
    return Point(command, Kill(nth, kind, chance.choice("bma" if kind in "wt" else "ba")))


def _played(cases: Sequence[Case], folder: Path) -> list[dict[str, Any]]:
    """Play cases side by side, and tell how far it is on stderr."""
    began, told = time.monotonic(), 0

    def more(done: list[Any], running: int) -> bool:
        nonlocal told
        if len(done) // EVERY > told:
            told = len(done) // EVERY
            bad = sum(_is_bad(trial) for trial in done)
            seconds = time.monotonic() - began
            print(f"{len(done)} of {len(cases)} played, {bad} bad, {seconds:.0f} s", file=sys.stderr, flush=True)
        return True

    return side_by_side((partial(play, case) for case in cases), folder, more, SLOTS)


def _is_bad(trial: Mapping[str, Any]) -> bool:
    return any(trial[name] for name in BARS)


def figures_of(trials: Trials) -> dict[str, int]:
    """Count kills, doubts, and whatever went wrong, by trials."""
    killed = [trial for trial in trials if trial["killed"]]
    return {
        "kills": sum(len(trial["killed"]) for trial in trials),
        "killed_runs": len(killed),
        "killed_twice": sum(len(trial["killed"]) > 1 for trial in killed),
        "with_doubts": sum(bool(trial["doubts"]) for trial in killed),
        "commands": sum(trial["commands"] for trial in trials),
        **{name: sum(bool(trial[name]) for trial in trials) for name in BARS},
        "bad_runs": sum(_is_bad(trial) for trial in trials),
    }


def _print(console: Console, trials: Trials, bad: Trials, figures: Mapping[str, Any], *, said: bool) -> None:
    for place, title, names in ((0, "shape", SHAPES), (1, "change", CHANGES), (2, "effects", CLASSES)):
        table = Table(title, "killed", "doubts", *BARS)
        for name in names:
            part = [trial for trial in trials if trial["case"].split("/")[place] == name and trial["killed"]]
            count = figures_of(part)
            columns = ("killed_runs", "with_doubts", *BARS)
            if part:
                table.add_row(name, *(str(count[column]) for column in columns))
        console.print(table)
    for trial in bad:
        wrong = "; ".join(f"{name}: {', '.join(trial[name])}" for name in BARS if trial[name])
        console.print(f"--case '{trial['case']}'  {wrong}"[:400], markup=False, highlight=False, soft_wrap=True)
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
    parser.add_argument("--seed", type=int, default=0, help="the seed of the points")
    parser.add_argument("--json", type=Path, default=Path("changed_world.json"), help="where the figures go")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
