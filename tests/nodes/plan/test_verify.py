"""What a card shows of values that are known: those of the plan that is asked about, and of no other."""

from __future__ import annotations

from typing import cast

from planwright.checkpoints.stores import Stores
from planwright.domain.plan import PlanStep
from planwright.domain.results import StepResult
from planwright.domain.verified_step import VerifiedStep
from planwright.nodes.plan.verify import known_values

NO_STORES = cast(Stores, None)  # nothing here is so large that it is stored by itself


def checked(uid: str, step: PlanStep) -> VerifiedStep:
    fixed = {"needs": (), "effect": "pure", "mode": "read_only", "risk": "None", "gated": False}
    return VerifiedStep.model_validate({"uid": uid, "step": step, **fixed})


def read(uid: str, text: str) -> StepResult:
    output = {"text": text}
    return StepResult(uid=uid, step_id="s1", capability="files.read", status="completed", output=output)


def reads(uid: str, path: str) -> VerifiedStep:
    return checked(uid, PlanStep(id="s1", capability="files.read", params={"path": path}))


SAVE = checked(
    "save", PlanStep(id="s2", capability="files.write", params={"text": "{{steps.s1.output.text}}"})
)
RESULTS = {"read alpha": read("read alpha", "ALPHA"), "read beta": read("read beta", "BETA")}


async def test_a_result_of_an_earlier_plan_under_the_same_id_is_not_shown() -> None:
    results = {"read alpha": RESULTS["read alpha"]}
    assert await known_values([reads("read beta", "beta.md"), SAVE], results, "", NO_STORES) == {}


async def test_a_result_that_the_plan_builds_on_is_shown_whatever_came_after_it() -> None:
    for name, text in (("read alpha", "ALPHA"), ("read beta", "BETA")):
        values = await known_values([reads(name, "any.md"), SAVE], RESULTS, "", NO_STORES)
        assert values == {"s2": {"text": text}}
