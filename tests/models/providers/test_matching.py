"""Who serves a step: by what its hint requires, then by what it prefers, then by priority."""

from __future__ import annotations

from typing import Any

import pytest

from planwright.domain.errors import SetupError
from planwright.domain.model_hint import ModelHint
from planwright.domain.plan import PlanStep
from planwright.models.providers.matching import on_offer, prices_of, ranked, route_of, step_route, unmet_by
from planwright.models.providers.router import EMBEDDED
from planwright.settings.providers import ProviderSettings
from planwright.state.agent_state import ModelRoute

PROVIDERS = {
    name: ProviderSettings.model_validate(given)
    for name, given in {
        "fast": {"model": "fast-1", "priority": 10, "context": 32_000},
        "house": {
            "model": "house-1",
            "priority": 20,
            "capabilities": ["function_calling", "code"],
            "context": 64_000,
            "prices": {"input_per_million": 1, "output_per_million": 2},
            "models": {
                "house-deep": {"capabilities": ["reasoning", "code"]},
                "house-eyes": {
                    "capabilities": ["vision", "reasoning", "function_calling"],
                    "context": 200_000,
                    "prices": {"input_per_million": 5, "output_per_million": 9},
                },
            },
        },
        "cloud": {
            "model": "cloud-1",
            "priority": 30,
            "capabilities": ["reasoning", "code", "vision", "function_calling", "streaming"],
            "context": 1_000_000,
        },
    }.items()
}
RUN = route_of("fast", PROVIDERS["fast"])


def hint(written: Any) -> ModelHint | None:
    return PlanStep.model_validate({"id": "s", "model_hint": written}).model_hint


def named(routes: list[ModelRoute]) -> list[str]:
    return [f"{route.provider}/{route.model}" for route in routes]


@pytest.mark.parametrize(
    ("written", "order"),
    [
        (None, "fast/fast-1 house/house-1 cloud/cloud-1"),
        ("function_calling", "fast/fast-1 house/house-1 cloud/cloud-1"),
        ("streaming", "fast/fast-1 cloud/cloud-1"),
        ("code", "house/house-1 cloud/cloud-1"),
        ("reasoning", "house/house-deep cloud/cloud-1"),
        ("vision", "house/house-eyes cloud/cloud-1"),
        (["reasoning", "function_calling"], "house/house-eyes cloud/cloud-1"),
        (["code", "vision"], "cloud/cloud-1"),
        ({"min_context": 64_000}, "house/house-1 cloud/cloud-1"),
        ({"min_context": 64_001}, "house/house-eyes cloud/cloud-1"),
        ({"min_context": 200_001}, "cloud/cloud-1"),
        ({"min_context": 1_000_001}, ""),
        ({"code": True, "min_context": 100_000}, "cloud/cloud-1"),
        ({"reasoning": "preferred"}, "house/house-deep cloud/cloud-1 fast/fast-1"),
        ({"reasoning": "preferred", "vision": "preferred"}, "house/house-eyes cloud/cloud-1 fast/fast-1"),
        ({"code": "preferred", "vision": "preferred"}, "cloud/cloud-1 house/house-1 fast/fast-1"),
        ({"code": True, "vision": "preferred"}, "cloud/cloud-1 house/house-1"),
        ({"preferred_context": 9_000_000}, "fast/fast-1 house/house-1 cloud/cloud-1"),
        ({"preferred_context": 150_000}, "house/house-eyes cloud/cloud-1 fast/fast-1"),
        (
            {"min_context": 60_000, "preferred_context": 900_000, "code": "preferred"},
            "cloud/cloud-1 house/house-1",
        ),
    ],
    ids=str,
)
def test_who_can_serve_and_in_which_order(written: Any, order: str) -> None:
    assert named(ranked(PROVIDERS, hint(written))) == order.split()


def test_of_equal_models_the_usual_one_serves_then_the_first_that_is_listed() -> None:
    able = {"capabilities": ["reasoning"]}
    plain = ProviderSettings.model_validate({"model": "m", "models": {"b": able, "a": able}})
    assert named(ranked({"p": plain}, hint("reasoning"))) == ["p/b"]
    usual = plain.model_copy(update={"capabilities": ("reasoning",)})
    assert named(ranked({"p": usual}, hint("reasoning"))) == ["p/m"]


def test_a_model_has_what_its_provider_says_where_it_says_nothing_itself() -> None:
    house = PROVIDERS["house"]
    deep, eyes, unlisted = (house.serving(name) for name in ("house-deep", "house-eyes", "house-7"))
    assert (deep.context, deep.prices, deep.capabilities) == (64_000, house.prices, ("reasoning", "code"))
    assert eyes.context == 200_000
    assert (unlisted.model, unlisted.capabilities, unlisted.context) == (
        "house-7",
        house.capabilities,
        64_000,
    )
    (route,) = ranked({"house": house}, hint("vision"))
    assert prices_of(PROVIDERS, route) == eyes.prices
    assert (route.context, route.can_call) == (200_000, True)


def test_a_listed_usual_model_is_as_it_is_listed() -> None:
    listed = ProviderSettings.model_validate({"model": "m", "models": {"m": {"capabilities": ["reasoning"]}}})
    assert [served.capabilities for served in listed.served] == [("reasoning",)]


@pytest.mark.parametrize(
    ("route", "written", "served_by"),
    [
        (RUN, None, "fast/fast-1"),
        (RUN, "reasoning", "house/house-deep"),
        (RUN.model_copy(update={"chosen": True}), "reasoning", "fast/fast-1"),
        (RUN.model_copy(update={"chosen": True}), {"min_context": 9_000_000}, "fast/fast-1"),
        (EMBEDDED, "reasoning", "embedded/planwright-offline"),
    ],
    ids=["no hint", "a hint", "chosen", "chosen, and nobody could", "embedded"],
)
def test_a_step_is_served_by_its_run_unless_its_hint_counts(
    route: ModelRoute, written: Any, served_by: str
) -> None:
    assert named([step_route(PROVIDERS, route, hint(written))]) == [served_by]


def test_the_route_of_a_step_carries_its_hint() -> None:
    assert step_route(PROVIDERS, RUN, hint("reasoning")).hint == hint("reasoning")


def test_what_nobody_has_is_an_error_with_what_to_do() -> None:
    with pytest.raises(SetupError) as refused:
        step_route(PROVIDERS, RUN, hint({"vision": True, "min_context": 2_000_000}))
    assert refused.value.cause == "no configured model offers vision and a context of 2,000,000 tokens"
    assert "providers.<id>.models" in refused.value.next_step


def test_what_a_chosen_model_does_not_have_is_known() -> None:
    asked = hint({"reasoning": True, "vision": "preferred", "function_calling": True})
    assert asked is not None
    assert unmet_by(PROVIDERS, RUN, asked) == ("reasoning", "vision")
    assert unmet_by(PROVIDERS, EMBEDDED, asked) == ()


def test_the_planner_is_told_each_kind_of_model_once_and_none_that_hints_cannot_reach() -> None:
    twice = {**PROVIDERS, "spare": PROVIDERS["fast"]}
    assert on_offer(twice, RUN) == [
        {"can": ["function_calling", "streaming"], "context": 32_000},
        {"can": ["code", "function_calling"], "context": 64_000},
        {"can": ["reasoning", "code"], "context": 64_000},
        {"can": ["reasoning", "vision", "function_calling"], "context": 200_000},
        {
            "can": ["reasoning", "code", "vision", "function_calling", "streaming"],
            "context": 1_000_000,
        },
    ]
    assert on_offer(PROVIDERS, EMBEDDED) == []
    assert on_offer(PROVIDERS, RUN.model_copy(update={"chosen": True})) == []
