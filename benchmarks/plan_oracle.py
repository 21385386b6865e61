"""What a run of random plans has to come to, by the written rules alone; it shares nothing with the product.

The rules, as they are written: a step starts when its dependencies have settled. A dependent with at least
one completed dependency proceeds with partial context; with none it is skipped; `on_failed_dependency = skip`
skips at the first failure, and the default of a plan is partial. What is transient is retried; what still
fails has failed. A tool's failure is planned round within the budget; a no of a person or of the policy is
terminal, and nothing goes round it. Cancelling: running calls finish, pending steps are skipped, and the run
is cancelled. What is done stays in every later plan under its id, and is not done again; an effect counts for
one equal call under another id instead. One more needs a person. Behind the rule of its dependencies a step
looks at its condition: where that is false it is skipped; where it cannot be evaluated, or reads a step that
brought nothing, the step has failed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

Does = Literal["ok", "flaky", "fails", "down", "late", "forbidden", "cancels"]
Status = Literal["completed", "failed", "skipped", "rejected"]
Call = tuple[bool, str, str]
FAILS = ("fails", "down", "late")  # what a tool may do wrong; being forbidden is no failure of a tool


@dataclass(frozen=True)
class Step:
    """One step of a plan: what it calls, and what that will do.

    `effect`: whether the call changes something. `name` and `does` are its arguments. `gate`: what a person
    answers at its gate, empty where it has none. `again`: what a person answers when it is done once more.
    `when`: the step that its condition reads, and whether that holds; None for one that cannot be evaluated.
    """

    id: str
    effect: bool
    name: str
    does: Does
    needs: tuple[str, ...] = ()
    skip: bool | None = None
    gate: str = ""
    again: str = "reject"
    when: tuple[str, bool | None] | None = None

    @property
    def call(self) -> Call:
        """What the step does, wherever it stands."""
        return self.effect, self.name, self.does


@dataclass(frozen=True)
class Sketch:
    """A plan: steps in an order that their needs allow, and whether a failed dependency skips."""

    steps: tuple[Step, ...]
    skip: bool = False


@dataclass
class Outcome:
    """How a run ends: its status, those of the steps of its last plan, and how often each effect happened."""

    status: str = ""
    steps: dict[str, Status] = field(default_factory=dict)
    happened: Counter[str] = field(default_factory=Counter)
    plans: int = 0


def foretold(plans: list[Sketch], budget: int) -> Outcome:
    """Say what a run comes to whose planner proposes these plans, one after the other."""
    run, state = Outcome(), _Run()
    for plan in plans:
        run.plans += 1
        run.steps = state.settle(plan)
        run.happened = state.happened
        if state.cancelled or state.forbidden or "failed" not in run.steps.values() or run.plans > budget:
            break
    run.status = state.status(run.steps)
    return run


class _Run:
    """What a run remembers from plan to plan."""

    def __init__(self) -> None:
        self.happened: Counter[str] = Counter()
        self.begun = False
        self.refused_effect = False
        self.cancelled = False
        self.forbidden = False
        self._done: Counter[Call] = Counter()
        self._refused: set[Call] = set()
        self._stays: dict[str, Step] = {}

    def settle(self, plan: Sketch) -> dict[str, Status]:
        """Settle the steps of a plan, one after the other, behind what stays of earlier ones."""
        left, steps = Counter(self._done), dict[str, Status]()
        listed, calls = {step.id for step in plan.steps}, {step.call for step in plan.steps if step.effect}
        for id_, step in self._stays.items():
            if id_ not in listed and step.call not in calls:
                steps[id_] = "completed"
        before = set(self._done)
        for step in plan.steps:
            missing = [need for need in step.needs if steps[need] != "completed"]
            skips = plan.skip if step.skip is None else step.skip
            if self.cancelled or (missing and (skips or len(missing) == len(step.needs))):
                steps[step.id] = "skipped"
            elif step.when and (steps[step.when[0]] != "completed" or step.when[1] is None):
                steps[step.id] = "failed"
            elif step.when and not step.when[1]:
                steps[step.id] = "skipped"
            else:
                steps[step.id] = self._made(step, left, before)
            if steps[step.id] == "completed":
                self._stays[step.id] = step
        return steps

    def _made(self, step: Step, left: Counter[Call], before: set[Call]) -> Status:
        if step.effect and left[step.call] > 0:
            left[step.call] -= 1
            return "completed"
        if step.call in self._refused:
            return "rejected"
        once_more = step.effect and step.call in before
        if (step.again if once_more else step.gate) == "reject":
            self._refused.add(step.call)
            self.refused_effect |= step.effect
            return "rejected"
        self.begun |= step.effect
        if step.does == "forbidden":
            self.forbidden = True
            return "failed"
        if step.does in FAILS:
            return "failed"
        if step.does == "cancels":
            self.cancelled = True
        if step.effect:
            self._done[step.call] += 1
            self.happened[step.name] += 1
        return "completed"

    def status(self, steps: dict[str, Status]) -> str:
        """Name how the run ends."""
        ended = set(steps.values())
        if self.cancelled:
            return "cancelled"
        if "failed" in ended:
            return "failed"
        if self.refused_effect and not self.begun:
            return "rejected"
        return "completed" if ended == {"completed"} else "completed_with_skips"
