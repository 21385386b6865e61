"""Random runs: a plan, and the plans that a model makes of it when it failed."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from benchmarks.plan_oracle import FAILS, Does, Sketch, Step

MOST = 7
TOOL: tuple[Does, ...] = ("ok", "ok", "ok", "ok", "flaky", "fails", "down", "late")


@dataclass(frozen=True)
class Case:
    """One run: the plans that its planner proposes, and how often it may plan again."""

    seed: int
    plans: tuple[Sketch, ...]
    budget: int


def drawn(seed: int) -> Case:
    """Draw a run by its seed."""
    chance = random.Random(seed)
    shape = chance.random()
    first = _cancelled(chance) if shape < 0.12 else _plan(chance, forbids=shape > 0.9)
    plans = [_conditioned(first, random.Random(f"when {seed}"))]
    for _ in range(2):
        plans.append(_mended(plans[-1], chance))
    return Case(seed, tuple(plans), chance.choice((0, 1, 1, 2, 2)))


def _plan(chance: random.Random, *, forbids: bool) -> Sketch:
    steps: list[Step] = []
    for number in range(chance.randint(1, MOST)):
        steps.append(_step(f"s{number}", number, steps, chance))
    if forbids:
        steps[-1] = replace(steps[-1], does="forbidden", gate="")
    if chance.random() < 0.2:
        steps += _twin(steps, chance)
    return Sketch(tuple(steps), skip=chance.random() < 0.3)


def _step(id_: str, number: int, before: list[Step], chance: random.Random) -> Step:
    needs = tuple(one.id for one in before if chance.random() < 0.35)
    effect, gate = chance.random() < 0.6, ""
    does = chance.choice(TOOL)
    if effect and does == "ok" and chance.random() < 0.25:
        gate = chance.choice(("approve", "approve", "reject"))
    skip = chance.choice((None, None, None, True, False))
    return Step(id_, effect, f"{id_}x{number}", does, needs, skip, gate, chance.choice(("approve", "reject")))


def _conditioned(plan: Sketch, chance: random.Random) -> Sketch:
    """Let some steps have conditions; one with a gate reads all that it needs, so that it never fails."""
    return replace(plan, steps=tuple(_under_condition(step, chance) for step in plan.steps))


def _under_condition(step: Step, chance: random.Random) -> Step:
    if not step.needs or chance.random() > 0.4 or (step.gate and len(step.needs) > 1):
        return step
    holds = (
        chance.choice((True, True, False)) if step.gate else chance.choice((True, True, False, False, None))
    )
    return replace(step, when=(chance.choice(step.needs), holds))


def _twin(steps: list[Step], chance: random.Random) -> list[Step]:
    """Make one effect twice, on purpose."""
    posts = [one for one in steps if one.effect and one.does == "ok" and not one.gate]
    return [replace(one, id=f"{one.id}b") for one in chance.sample(posts, min(1, len(posts)))]


def _cancelled(chance: random.Random) -> Sketch:
    """Plan a run that is cancelled in one step, behind some and in front of all others."""
    plan = _plan(chance, forbids=False)
    steps = [replace(one, gate="") for one in plan.steps]
    if len(steps) == 1:
        steps += [replace(steps[0], id="last", name="last")]
    at = chance.randrange(len(steps) - 1)  # something is left to be skipped
    for number, one in enumerate(steps):
        if number == at:
            steps[number] = replace(one, does="cancels", needs=tuple(s.id for s in steps[:at]), skip=False)
        elif number > at and steps[at].id not in one.needs:
            steps[number] = replace(one, needs=(*one.needs, steps[at].id))
    before = [replace(one, does="ok") for one in steps[:at]]
    return Sketch((*before, *steps[at:]), skip=plan.skip)


def _mended(plan: Sketch, chance: random.Random) -> Sketch:
    """Plan again: what failed is mended, mostly, and all has other names and places, sometimes."""
    steps = [_mended_step(one, chance) for one in plan.steps]
    if chance.random() < 0.5:
        ids = {one.id for one in steps}
        names = {i.id: f"r{i.id}" for i in steps if chance.random() < 0.5 and f"r{i.id}" not in ids}
        steps = [
            replace(
                one,
                id=names.get(one.id, one.id),
                needs=tuple(names.get(n, n) for n in one.needs),
                when=one.when and (names.get(one.when[0], one.when[0]), one.when[1]),
            )
            for one in steps
        ]
    if chance.random() < 0.25:
        steps += _twin([one for one in steps if f"{one.id}b" not in {s.id for s in steps}], chance)
    if chance.random() < 0.3:
        steps.append(_step(f"n{len(steps)}", len(steps), steps, chance))
    return Sketch(tuple(steps), plan.skip)


def _mended_step(step: Step, chance: random.Random) -> Step:
    if step.when and step.when[1] is None:
        return replace(step, when=(step.when[0], chance.choice((True, False, None))))
    if step.does not in FAILS:
        return step
    return replace(step, does=chance.choice(("ok", "ok", "ok", step.does)))
