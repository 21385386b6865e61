"""A limit of a run that is nearly used up is warned of, once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planwright.cli.session.event_lines import event_line
from planwright.cli.views.rendering import console
from tests.scenarios.test_run_budgets import CostlyModel

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene


def warnings(scene: Scene) -> list[dict[str, Any]]:
    """List the events that warn of a limit."""
    return [e for e in scene.journal() if e["type"] == "budget_update" and "limit" in e["data"]]


def printed(event: dict[str, Any]) -> str:
    """Print the line of an event as a pipe gets it."""
    screen = console()
    with screen.capture() as captured:
        screen.print(event_line(event))
    return captured.get().strip()


def test_tokens_are_warned_of_when_80_percent_are_used(scene: Scene) -> None:
    model = CostlyModel(replies=[scene.plan(scene.step("s1", "work.read")), "the answer"], tokens=8500)
    scene.ask(scene.agent(model=model, budgets={"run": {"tokens": 20_000}}))
    (told,) = warnings(scene)
    assert told["data"] == {
        "limit": "budgets.run.tokens",
        "unit": "tokens",
        "used": 17_000,
        "of": 20_000,
        "left": 3000,
        "percent": 85,
    }
    assert printed(told) == "budget     85 % of budgets.run.tokens used: 17,000 tokens of 20,000 tokens"


def test_calls_are_warned_of_once_however_many_follow(scene: Scene) -> None:
    steps = [scene.step("s1", "work.read")]
    steps += [scene.step(f"s{n}", "work.read", f"s{n - 1}") for n in range(2, 6)]
    scene.ask(scene.agent(scene.plan(*steps), "the answer", budgets={"run": {"tool_calls": 5}}))
    assert [(told["data"]["used"], told["data"]["percent"]) for told in warnings(scene)] == [(4, 80)]


def test_below_80_percent_nobody_is_warned(scene: Scene) -> None:
    model = CostlyModel(replies=[scene.plan(scene.step("s1", "work.read")), "the answer"], tokens=7000)
    scene.ask(scene.agent(model=model, budgets={"run": {"tokens": 20_000, "tool_calls": 2}}))
    assert warnings(scene) == []


def test_a_warning_comes_before_what_the_run_used_in_all(scene: Scene) -> None:
    model = CostlyModel(replies=[scene.plan(scene.step("s1", "work.read")), "the answer"], tokens=8500)
    scene.ask(scene.agent(model=model, budgets={"run": {"tokens": 20_000}}))
    told = [event["data"] for event in scene.journal() if event["type"] == "budget_update"]
    assert ["limit" in data for data in told] == [True, False]
