"""`plans`: plans that are spoiled at random, judged by us and by a judge that shares no code.

Counted are crashes, plans that we accept and the judge does not, plans that lost something on the way, and
plans that nothing was done to and we refuse.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.plan_validator import lost, why_wrong
from planwright.domain.errors import ModelOutputInvalid, PlanInvalid
from planwright.domain.plan import Plan
from planwright.planning.plan_proposal import proposal_of
from tests.planning.plan_world import judged

MANY, SEED = 50_000, 11
HOSTILE: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, 1e308, "", " ", "s1", "respond", "{{", "\u0000", "x" * 70),
    *("{{steps.s1.output.text}}", "{{steps.s9.output}}", "${steps.s1.output.text}"),
    *("steps.s1.output.size > 2", "steps.s9.output.size > 2", "steps.s1.size", "size(", "true"),
    *([], ["s1"], [None], [[]], {}, {"s1": "s1"}, {"id": "s1"}),
)
KEYS = (
    *("needs", "after", "dependencies", "tool", "args", "input", "inputs", "requires", "gates", "approved"),
    *(
        "if",
        "when",
        "name",
        "step",
        "capability",
        "depends_on",
        "decision_checkpoints",
        "steps",
        "Depends-On",
        "",
    ),
    *(
        "__class__",
        "model_hint",
        "timeout",
        "timeout_ms",
        "undo",
        "reasoning",
        "id",
        "context_key",
        "checked",
    ),
)


@dataclass
class Report:
    """What came of all plans."""

    plans: int = 0
    accepted: int = 0
    asked_again: int = 0
    found: dict[str, int] = field(default_factory=dict)
    crashes: list[str] = field(default_factory=list)
    wrongly_accepted: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    wrongly_refused: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether nothing went wrong."""
        return not (self.crashes or self.wrongly_accepted or self.lost or self.wrongly_refused)


def good_plan(dice: random.Random) -> dict[str, Any]:
    """Make a plan that may run."""
    steps: list[dict[str, Any]] = []
    for number in range(1, dice.randint(2, 7)):
        before = [step["id"] for step in steps]
        step: dict[str, Any] = {
            "id": f"s{number}",
            "depends_on": dice.sample(before, dice.randint(0, len(before))),
        }
        if dice.random() < 0.2:
            step |= {"description": f"Look at {number}", "tool_hints": ["notes.read"]}
        elif dice.random() < 0.5:
            step |= {"capability": "notes.read", "params": {"name": f"n{number}"}}
        else:
            text = "{{steps." + dice.choice(before) + ".output.text}}" if before else f"t{number}"
            step |= {"capability": "notes.write", "params": {"name": f"n{number}", "text": text}}
        if dice.random() < 0.2:
            step |= {"context_key": f"key{number}", "estimated_risk": dice.choice(["None", "Medium", "High"])}
        if before and dice.random() < 0.2:
            source = dice.choice(steps)
            step["inputs"] = [source.get("context_key", source["id"])]
        sized = [one["id"] for one in steps if "capability" in one]
        if sized and dice.random() < 0.2:
            step["when"] = f"steps.{dice.choice(sized)}.output.size {dice.choice(('>', '<='))} {number}"
        steps.append(step)
    return {"goal": "g", "steps": steps}


def spoil(plan: dict[str, Any], dice: random.Random) -> None:
    """Do one thing to a plan that may be harmless, or not."""
    steps = plan["steps"] if isinstance(plan.get("steps"), list) else []
    place: Any = plan if dice.random() < 0.2 or not steps else dice.choice(steps)
    if not isinstance(place, dict):
        return
    if isinstance(place.get("params"), dict) and dice.random() < 0.3:
        place = place["params"]
    key = dice.choice([*place, "x"])
    value = copy.deepcopy(place.get(key))
    what = dice.randrange(6)
    if what == 0:
        place.pop(key, None)
    elif what == 1:
        place[key] = copy.deepcopy(dice.choice(HOSTILE))
    elif what == 2:
        place[dice.choice(KEYS)] = copy.deepcopy(dice.choice(HOSTILE))
    elif what == 3:
        place.pop(key, None)
        place[dice.choice(KEYS)] = value
    elif what == 4 and steps:
        steps.insert(dice.randint(0, len(steps)), copy.deepcopy(dice.choice(steps)))
    else:
        dice.shuffle(steps)


def play(many: int, seed: int, told: Callable[[str], None] = lambda _: None) -> Report:
    """Spoil and judge `many` plans."""
    report = Report()
    for number in range(many):
        dice = random.Random(f"{seed}:{number}")
        plan = good_plan(dice)
        spoiled = dice.randint(0, 3)
        for _ in range(spoiled):
            spoil(plan, dice)
        text = json.dumps(plan)
        cut = dice.randint(1, len(text) - 1) if dice.random() < 0.05 else 0
        _judge(report, text[:-cut] if cut else text, plan, whole=not cut, spoiled=bool(spoiled or cut))
        if number % 5000 == 4999:
            told(f"{number + 1:,} plans: {report.accepted:,} accepted, {len(report.crashes)} crashes")
    return report


def _judge(report: Report, text: str, given: dict[str, Any], *, whole: bool, spoiled: bool) -> None:
    report.plans += 1
    try:
        plan = proposal_of(text).plan
        codes = judged(plan)
    except (PlanInvalid, ModelOutputInvalid) as error:
        report.asked_again += 1
        if not spoiled:
            report.wrongly_refused.append(f"{error}: {text}")
        return
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a crash
        report.crashes.append(f"{type(error).__name__}: {error}: {text}")
        return
    if codes:
        for code in codes:
            report.found[code] = report.found.get(code, 0) + 1
        if not spoiled:
            report.wrongly_refused.append(f"{codes}: {text}")
        return
    report.accepted += 1
    assert isinstance(plan, Plan)
    read = plan.model_dump(mode="json")
    if not whole:
        report.wrongly_accepted.append(f"cut off: {text}")
    elif flaw := why_wrong(read):
        report.wrongly_accepted.append(f"{flaw}: {text}")
    elif missing := lost(given, read):
        report.lost.append(f"{missing}: {text}")


def main() -> int:
    """Play, tell, and write plans.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--many", type=int, default=MANY)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    started = time.monotonic()
    report = play(options.many, options.seed, print)
    seconds = round(time.monotonic() - started, 1)
    summary = {**asdict(report), "seed": options.seed, "seconds": seconds}
    Path("plans.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    print(f"N={report.plans:,} seed={options.seed}, {seconds} s -> plans.json")
    print(f"{report.accepted:,} accepted, {report.asked_again:,} asked again, {report.found} found")
    print(
        f"{len(report.crashes)} crashes, {len(report.wrongly_accepted)} wrongly accepted,"
        f" {len(report.lost)} lost something, {len(report.wrongly_refused)} wrongly refused"
    )
    for line in [*report.crashes, *report.wrongly_accepted, *report.lost, *report.wrongly_refused][:20]:
        print(line[:400])
    return 0 if report.good else 1


if __name__ == "__main__":
    sys.exit(main())
