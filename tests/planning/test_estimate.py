"""What a plan needs at least, and which plans do not fit into what is left."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from planwright.cli.views.rendering import model_use_text
from planwright.planning.estimate import Estimate, in_all, over_budget
from planwright.records.budget_usage import Spent
from planwright.settings.profile import RunLimits

NOTHING = Spent(0, 0, 0, 0, 0)
SENT = {"tool_calls": 2, "model_calls": 1, "tokens": 300, "cost": 60, "at_least": False}
NEEDED = Estimate.model_validate({**SENT, "effects": 2, "room_tokens": 4096, "room_cost": 1000})
AGENTIC = NEEDED.model_copy(update={"at_least": True, "model_calls": 2})


def limits(**given: Any) -> RunLimits:
    return RunLimits.model_validate(given)


@pytest.mark.parametrize(
    ("within", "spent"),
    [
        (limits(), Spent(10**9, 10**6, 10**12, 9, 0)),
        (limits(tool_calls=2), NOTHING),
        (limits(tokens=4396), NOTHING),
        (limits(tokens=5396), Spent(1000, 0, 0, 1, 0)),
        (limits(cost=Decimal("0.0000106")), NOTHING),
    ],
    ids=["no limits", "calls", "tokens", "tokens beside those used", "cost"],
)
def test_a_plan_that_just_fits_in_is_let_through(within: RunLimits, spent: Spent) -> None:
    assert over_budget(NEEDED, spent, within) == []


@pytest.mark.parametrize(
    ("needed", "within", "spent", "says"),
    [
        (
            NEEDED,
            limits(tool_calls=3),
            Spent(0, 2, 0, 1, 0),
            "budget_exceeded: 2 calls planned, 1 left of budgets.run.tool_calls"
            " (raise budgets.run.tool_calls)",
        ),
        (
            AGENTIC,
            limits(tool_calls=1),
            NOTHING,
            "budget_exceeded: at least 2 calls planned, 1 left of budgets.run.tool_calls"
            " (raise budgets.run.tool_calls)",
        ),
        (
            NEEDED,
            limits(tokens=5395),
            Spent(1000, 0, 0, 1, 0),
            "budget_exceeded: 1 call of the model planned: 300 tokens to send and room for a reply,"
            " 4,096 tokens; 4,395 tokens left of budgets.run.tokens (raise budgets.run.tokens)",
        ),
        (
            AGENTIC,
            limits(tokens=100, own={"tokens": "agents.x.limits.tokens"}),
            Spent(200, 0, 0, 1, 0),
            "budget_exceeded: at least 2 calls of the model planned: 300 tokens to send and room for a reply,"
            " 4,096 tokens; 0 tokens left of agents.x.limits.tokens (raise agents.x.limits.tokens)",
        ),
        (
            NEEDED.model_copy(update={"cost": 2_000_000, "room_cost": 3_000_000}),
            limits(cost=Decimal("0.04")),
            NOTHING,
            "budget_exceeded: 1 call of the model planned: $0.02 to send and room for a reply, $0.03;"
            " $0.04 left of budgets.run.cost (raise budgets.run.cost)",
        ),
    ],
    ids=["calls", "calls of an agent", "tokens", "of an agent's own limit", "cost"],
)
def test_a_plan_that_does_not_fit_in_is_a_finding(
    needed: Estimate, within: RunLimits, spent: Spent, says: str
) -> None:
    assert [str(finding) for finding in over_budget(needed, spent, within)] == [says]


def test_every_limit_that_is_broken_is_named() -> None:
    within = limits(tool_calls=1, tokens=1, cost=0)
    found = over_budget(NEEDED, NOTHING, within)
    assert [finding.fix for finding in found] == [
        f"raise budgets.run.{name}" for name in ("tool_calls", "tokens", "cost")
    ]


def test_a_plan_without_words_at_its_end_needs_no_room_for_them() -> None:
    none = NEEDED.model_copy(update={"model_calls": 0, "tokens": 0, "room_tokens": 0})
    assert over_budget(none, NOTHING, limits(tokens=0)) == []


def test_the_estimate_of_a_run_is_what_it_used_and_what_its_plan_needs() -> None:
    card = in_all(NEEDED, Spent(1000, 3, 500, 2, 0))
    assert card["run"] == {"model_calls": 3, "tokens": 1300, "cost": 560}
    unpriced = in_all(NEEDED.model_copy(update={"cost": None}), Spent(1000, 3, 500, 2, 2))
    assert unpriced["run"] == {"model_calls": 3, "tokens": 1300, "cost": None}


@pytest.mark.parametrize(
    ("card", "says"),
    [
        (SENT, "1 call of a model, from 300 tokens, from $0.00"),
        ({**SENT, "cost": None}, "1 call of a model, from 300 tokens, unpriced"),
        (
            {**SENT, "model_calls": 3, "at_least": True, "tokens": 12_000, "cost": 5_000_000},
            "at least 3 calls of a model, from 12,000 tokens, from $0.05",
        ),
        ({**SENT, "model_calls": 0}, "no call of a model"),
    ],
)
def test_the_card_says_what_is_known_and_that_it_may_be_more(card: dict[str, Any], says: str) -> None:
    assert model_use_text(card) == says


def test_effects_that_the_run_had_count() -> None:
    assert over_budget(NEEDED, NOTHING, limits(effects=3), effects=1) == []
    (finding,) = over_budget(NEEDED, NOTHING, limits(effects=3), effects=2)
    assert str(finding) == (
        "budget_exceeded: 2 effects planned, 1 left of budgets.run.effects (raise budgets.run.effects)"
    )
