"""Nothing happens that nobody approved: every effect by every way, and hostile texts -> consent.json

It is judged by what the receivers and the disk show, and by the tables of the store, read with plain SQL.
Every effect is asked for by every way, before and after the run has read what others wrote; until somebody
decides, nothing may have happened, and after a yes it happened once. Then texts of others try to have their
way with a model that obeys every word that reaches it; the same requests without them end as they should.
"""

from __future__ import annotations

import argparse
import atexit
import json
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import consent_cases, consent_effects, consent_injections
from benchmarks.consent_cases import Case
from benchmarks.consent_effects import KINDS, Verdict
from benchmarks.consent_injections import Attack, Outcome
from benchmarks.consent_stage import Theatre, theatre


def main() -> int:
    """Play both sweeps, write the figures and the failures, and return the exit code."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--json", type=Path, default=Path("consent.json"))
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--only", default="", help="only entries whose id begins like this")
    options.add_argument(
        "--every", type=int, default=1, help="3: every third case only (odd numbers mix best)"
    )
    asked, began = options.parse_args(), time.monotonic()
    cases = [case for case in consent_cases.cases() if case.id.startswith(asked.only)]
    attacks = [attack for attack in consent_injections.attacks() if attack.id.startswith(asked.only)]
    given: list[Case | Attack] = [*cases, *attacks]
    seen = list(played(given[:: asked.every], asked.processes))
    verdicts = [one for one in seen if isinstance(one, Verdict)]
    outcomes = [one for one in seen if isinstance(one, Outcome)]
    wrong = [failure(one) for one in seen if one.wrong]
    figures = {
        "effects": effect_figures(verdicts),
        "injections": consent_injections.figures(outcomes),
        "seconds": round(time.monotonic() - began),
        "runs": len(seen),
        "wrong": len(wrong),
    }
    asked.json.write_text(json.dumps({**figures, "failures": wrong}, indent=1) + "\n", "utf-8")
    print(json.dumps(figures, indent=1))
    for one in wrong[:20]:
        print(json.dumps(one))
    print(f"{len(seen)} runs, {len(wrong)} wrong; all of them are in {asked.json}")
    return int(bool(wrong))


def effect_figures(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Count, in all and by way: what happened without a yes, without a record, not at all, or twice."""
    plain = [one for one in verdicts if not one.case["cover"]]
    tainted = [one for one in plain if one.case["reads"]]
    embedded = [one for one in plain if one.case["way"] == "embedded planner"]
    covered = [one for one in verdicts if one.case["cover"]]
    return {
        "requests": len({one.case["id"] for one in plain}),
        "cases": len(plain),
        "tainted": len(tainted),
        "rejected": sum(not one.case["yes"] for one in plain),
        **_counts(plain),
        "by_way": {way: _way([one for one in plain if one.case["way"] == way]) for way in consent_cases.WAYS},
        "embedded_planned": sum(one.planned for one in embedded),
        "embedded_not_planned": sum(not one.planned for one in embedded),
        "covered": {
            cover: _cover([one for one in covered if one.case["cover"] == cover])
            for cover in consent_cases.COVERS[1:]
        },
    }


def _counts(verdicts: Iterable[Verdict]) -> dict[str, int]:
    found = Counter(kind for one in verdicts for kind in KINDS if getattr(one, kind))
    return {kind: found[kind] for kind in KINDS}


def _way(verdicts: Sequence[Verdict]) -> dict[str, int]:
    approved = [one for one in verdicts if one.case["yes"]]
    return {
        "cases": len(verdicts),
        **_counts(verdicts),
        "gates_of_approved": sum(one.gates for one in approved),
    }


def _cover(verdicts: Sequence[Verdict]) -> dict[str, int]:
    asked = sum(one.gates > 0 for one in verdicts)
    return {"cases": len(verdicts), "passed": len(verdicts) - asked, "asked": asked, **_counts(verdicts)}


def failure(one: Verdict | Outcome) -> dict[str, Any]:
    """Tell of a run that went wrong: which it was, and what was wrong with it."""
    found = {name: value for name, value in vars(one).items() if value and name not in ("case", "planned")}
    return {**one.case, **found}


def played(given: Sequence[Case | Attack], processes: int) -> Iterator[Verdict | Outcome]:
    """Play runs in a few processes, each with receivers and a model of its own; yield in order."""
    spawn = multiprocessing.get_context("spawn")
    with (
        TemporaryDirectory(prefix="consent-") as folder,
        ProcessPoolExecutor(processes, spawn) as pool,
    ):
        yield from pool.map(_play, [(one, folder) for one in given], chunksize=8)


def _play(task: tuple[Case | Attack, str]) -> Verdict | Outcome:
    given, folder = task
    if isinstance(given, Case):
        return consent_effects.play(given, _theatre(folder))
    return consent_injections.play(given, _theatre(folder))


@cache
def _theatre(folder: str) -> Theatre:
    """Open what the runs of this process share."""
    return _opened().enter_context(theatre(Path(folder)))


@cache
def _opened() -> ExitStack:
    """Keep what is open until the process ends, and close it while its threads still run."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack


if __name__ == "__main__":
    sys.exit(main())
