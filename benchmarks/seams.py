"""No effect with a value or content that nobody was shown: all seams between a card and a call -> seams.json

Every argument of every capability (built in, a user's own with and without destinations, tools of an MCP
server with twenty sets of annotations) is filled by what the user says, by what others or a model wrote, or
by a file that changes while a card is open; it is called in a plan, a session of the background, a chain of a
plan, by the agent of a step, instead of a step that failed, to undo another, in a loop, a chain of that, and
by a sub-agent. A person says yes to all cards, then no to each of them. It is judged by what the person saw
and by what receivers got. Exits with 1 where something was received that was neither shown, nor waived, nor
free by the rule, or after a no; where the hash of a card does not cover what it shows; or where one of 2,000
pairs of names that look alike is taken for one name.
"""

from __future__ import annotations

import argparse
import atexit
import json
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.confusable_names import equal, pairs
from benchmarks.counted_stage import quick_folder
from benchmarks.seams_cases import KINDS, WAYS, Case, cases
from benchmarks.seams_judge import Finding, Judge, after_no, hash_of, is_free
from benchmarks.seams_person import Person
from benchmarks.seams_stage import Played, Stage, opened
from benchmarks.seams_ways import Scene


@dataclass
class Outcome:
    """What became of one case, in all its plays."""

    case: Case
    plays: int = 0
    cards: int = 0
    made: bool = False
    """Whether the call was received after a yes to all cards."""
    shown: bool = False
    waived: bool = False
    free: bool = False
    findings: list[Finding] = field(default_factory=list)
    problem: str = ""


def sweep(case: Case, stage: Stage, judge: Judge = Judge()) -> Outcome:  # noqa: B008 - it is frozen
    """Play one case with a yes, with a no at each of its cards, and unseen, where that may be said."""
    outcome = Outcome(case)
    yes_scene = stage.scene(case)
    yes = _play(outcome, stage, yes_scene, Person(), judge)
    received = [receipt for _, receipt in yes.receipts if receipt.capability == case.capability]
    outcome.made, outcome.cards, outcome.problem = bool(received), len(yes.cards) - yes.begun, yes.problem
    outcome.free = bool(received) and all(is_free(yes_scene, one) for one in received)
    outcome.shown = outcome.made and not outcome.free and not outcome.findings
    for number in range(outcome.cards):
        scene = stage.scene(case)
        other = yes.cards[yes.begun + number].hash
        no = _play(outcome, stage, scene, Person(refused=number, other=other), judge)
        outcome.findings += after_no(scene, no)
        outcome.findings += _same_hash(yes_scene, yes, no)
    if any(card.later for card in yes.cards):
        _play(outcome, stage, stage.scene(case), Person(unseen=True), judge)
        outcome.waived = True
    return outcome


def _play(outcome: Outcome, stage: Stage, scene: Scene, person: Person, judge: Judge) -> Played:
    played = stage.play(scene, person)
    outcome.plays += 1
    outcome.findings += judge.findings(scene, played)
    if played.passed:
        outcome.findings.append(
            Finding("hash", f"an approval of another card passed {played.cards[-1].gate_id}")
        )
    for card in played.cards:
        spelled, recorded = stage.card_hashes(card.gate_id)
        if not hash_of(card.shown) == hash_of(json.loads(spelled)) == recorded:
            outcome.findings.append(Finding("hash", f"that of {card.gate_id} does not cover its card"))
    return played


def _same_hash(scene: Scene, yes: Played, no: Played) -> Iterator[Finding]:
    """A card that shows another value has another hash, and an answer to the one is none to the other."""
    text = json.dumps(str(scene.value), ensure_ascii=False)[1:-1]
    for one, other in zip(yes.cards, no.cards, strict=False):
        shows, too = (text in json.dumps(card.shown, ensure_ascii=False) for card in (one, other))
        if shows and not too and one.hash == other.hash:
            yield Finding("hash", f"two cards over {scene.case.capability} have one hash")


def figures(outcomes: Sequence[Outcome], left_out: Counter[str]) -> dict[str, Any]:
    """Count the cases by what filled the argument and by way, and what was found."""
    found = Counter(one.what for outcome in outcomes for one in outcome.findings)
    return {
        "capabilities": len({one.case.capability for one in outcomes}),
        "arguments": len({(one.case.capability, one.case.argument) for one in outcomes}),
        "cases": len(outcomes),
        "plays": sum(one.plays for one in outcomes),
        "cards": sum(one.cards for one in outcomes),
        "made": sum(one.made for one in outcomes),
        "shown": sum(one.shown for one in outcomes),
        "free": sum(one.free for one in outcomes),
        "waivable": sum(one.waived for one in outcomes),
        "not_made": sum(not one.made for one in outcomes),
        "cannot_exist": dict(left_out),
        "findings": {what: found[what] for what in ("unseen", "content", "after no", "hash")},
        "by_way": {way: _counts([one for one in outcomes if one.case.way == way]) for way in WAYS},
        "by_kind": {kind: _counts([one for one in outcomes if one.case.kind == kind]) for kind in KINDS},
    }


def _counts(outcomes: Sequence[Outcome]) -> dict[str, int]:
    return {
        "cases": len(outcomes),
        "made": sum(one.made for one in outcomes),
        "shown": sum(one.shown for one in outcomes),
        "free": sum(one.free for one in outcomes),
        "findings": sum(bool(one.findings) for one in outcomes),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Play all cases, write the figures and the findings, and return the exit code."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--json", type=Path, default=Path("seams.json"))
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--only", default="", help="only capabilities whose name begins like this")
    options.add_argument("--every", type=int, default=1, help="7: every seventh case only")
    asked, began = options.parse_args(arguments), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="seams-", dir=quick_folder()) as folder:
        chosen, left_out = listed(Path(folder), asked.only)
        outcomes = list(played(chosen[:: asked.every], asked.processes, folder))
    wrong = [one for one in outcomes if one.findings]
    names = pairs()
    alike = [{"compares": what, **asdict(pair)} for what, pair in equal(names)]
    report = {
        **figures(outcomes, left_out),
        "names": {"pairs": len(names), "taken_for_one": len(alike)},
        "seconds": round(time.monotonic() - began),
    }
    failures = [*alike, *(asdict(one) for one in wrong)]
    asked.json.write_text(json.dumps({**report, "failures": failures}, indent=1) + "\n", "utf-8")
    print(json.dumps(report, indent=1))
    for failure in failures[:20]:
        print(json.dumps(failure, ensure_ascii=False))
    return int(bool(failures))


def listed(folder: Path, only: str = "") -> tuple[list[Case], Counter[str]]:
    """List the cases of both stages, as their registries have them."""
    with opened(folder, server=False) as plain, opened(folder, server=True) as served:
        own, left = cases(plain.registry)
        theirs, more = cases(served.registry, "seams.")
    return [case for case in (*own, *theirs) if case.capability.startswith(only)], left + more


def played(chosen: Sequence[Case], processes: int, folder: str) -> Iterator[Outcome]:
    """Play cases in a few processes, each with stages of its own; yield in order."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, spawn) as pool:
        yield from pool.map(_sweep, [(case, folder) for case in chosen], chunksize=16)


def _sweep(task: tuple[Case, str]) -> Outcome:
    case, folder = task
    return sweep(case, _stage(folder, case.capability.startswith("seams.")))


@cache
def _stage(folder: str, server: bool) -> Stage:
    return _open().enter_context(opened(Path(folder), server=server))


@cache
def _open() -> ExitStack:
    """Keep what is open until the process ends, and close it while its threads still run."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack


if __name__ == "__main__":
    sys.exit(main())
