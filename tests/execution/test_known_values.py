"""What a card shows of values that are known: those of the plan that is asked about, and of no other."""

from __future__ import annotations

from typing import cast

from pydantic import BaseModel, JsonValue

from planwright.capabilities.builtin import files
from planwright.capabilities.declaration import capability
from planwright.capabilities.registry import Registry
from planwright.domain.plan import PlanStep
from planwright.domain.results import StepResult
from planwright.domain.verified_step import VerifiedStep
from planwright.execution.recorded_result import as_sent, known_so_far, known_values
from planwright.records.stores import Stores

FILES = Registry([files.read, files.write])
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


async def known(steps: list[VerifiedStep], results: dict[str, StepResult]) -> dict[str, dict[str, JsonValue]]:
    scope = await known_so_far(steps, results, "", NO_STORES)
    return known_values(steps, results, scope, FILES)


async def test_a_result_of_an_earlier_plan_under_the_same_id_is_not_shown() -> None:
    results = {"read alpha": RESULTS["read alpha"]}
    assert await known([reads("read beta", "beta.md"), SAVE], results) == {}


async def test_a_result_that_the_plan_builds_on_is_shown_whatever_came_after_it() -> None:
    for name, text in (("read alpha", "ALPHA"), ("read beta", "BETA")):
        values = await known([reads(name, "any.md"), SAVE], RESULTS)
        assert values == {"s2": {"text": text}}


class Payment(BaseModel):
    """Who gets how much."""

    to: str
    amount: int


@capability("payments.send", mode="network")
def send(payment: Payment, copies: int = 1) -> str:
    """Send money."""
    return f"{payment.amount * copies} to {payment.to}"


def pays(**params: JsonValue) -> VerifiedStep:
    return checked("pay", PlanStep(id="s2", capability="payments.send", params=params))


def test_a_plan_shows_values_as_their_call_will_have_them() -> None:
    entry = pays(payment={"to": "ada", "amount": "1_000"}, copies="1_0")
    values = as_sent([entry], {}, Registry([send]))
    assert values == {"s2": {"payment": {"to": "ada", "amount": 1000}, "copies": 10}}


def test_what_a_reference_brought_is_shown_as_it_will_be_sent() -> None:
    entry = pays(payment={"to": "ada", "amount": "{{steps.s1.output.text}}"}, copies=1)
    resolved: dict[str, dict[str, JsonValue]] = {
        "s2": {"payment": {"to": "ada", "amount": "0_7"}, "copies": 1}
    }
    assert as_sent([entry], {}, Registry([send])) == {}
    values = as_sent([entry], resolved, Registry([send]))
    assert values == {"s2": {"payment": {"to": "ada", "amount": 7}}}


def test_what_is_sent_as_it_is_planned_is_shown_once() -> None:
    entry = pays(payment={"to": "ada", "amount": 5})
    assert as_sent([entry], {}, Registry([send])).get("s2", {}) == {}
