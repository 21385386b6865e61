"""Limits of providers over real HTTP: who is benched, who serves instead, and what is said of it."""

from __future__ import annotations

import socket
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planwright.cli.views.usage_views import usage_of
from planwright.domain.run_context import RunContext
from planwright.state.invocation import utc_now
from tests.opened_store import opened_store
from tests.wire.asking import LISTING, ask, provider, settings_for
from tests.wire.conftest import Serve
from tests.wire.scripted_server import (
    Reply,
    ScriptedServer,
    breaks_off,
    cut_short,
    garbage,
    hangs,
    no_choices,
    refuses,
    resets,
    says,
)

pytestmark = pytest.mark.enable_socket

SCRIPT = (says(LISTING), says("Four tickets."))
COSTLY = (says(LISTING, (16_000, 200)), says("Four tickets.", (16_000, 200)))
DAILY = {"daily_tokens": 16_000}
PRICES = {"input_per_million": "2", "output_per_million": "8"}


def two(
    first: ScriptedServer, second: ScriptedServer, of_a: Any, of_b: Any = None
) -> dict[str, dict[str, Any]]:
    return {
        "a": provider(first, priority=1, **of_a),
        "b": provider(second, priority=2, **(of_b or {})),
    }


def test_a_provider_that_reaches_its_limit_in_a_run_makes_way_for_the_next(
    workspace: Path, serve: Serve
) -> None:
    first, second = serve(*COSTLY), serve(says("Four tickets."))
    ended = ask(settings_for(workspace, two(first, second, DAILY)))
    assert (ended.status, ended.answer) == ("completed", "Four tickets.")
    assert [call["provider"] for call in ended.of("llm_call")] == ["a", "b"]
    (told,) = ended.of("failover")
    assert (told["failure"], told["move"], told["next"]) == (
        "ProviderBudgetExceeded",
        "next_provider",
        "b/my-model",
    )
    assert told["cause"].startswith("provider a may use 16,000 tokens a day: 16,200 tokens used in ")


def test_a_provider_over_its_limit_is_benched_for_the_whole_of_the_next_run(
    workspace: Path, serve: Serve
) -> None:
    first, second = serve(*COSTLY), serve(says("Four tickets."), *SCRIPT)
    settings = settings_for(workspace, two(first, second, DAILY))
    ask(settings)
    ended = ask(settings)
    assert (ended.status, len(first.requests), len(second.requests)) == ("completed", 1, 3)
    assert [call["provider"] for call in ended.of("llm_call")] == ["b", "b"]
    assert ended.of("failover") == []
    benched = [told for told in ended.of("budget_update") if "benched" in told]
    assert [(told["limit"], told["used"], told["benched"]) for told in benched] == [
        ("providers.a.daily_tokens", 16_200, "a")
    ]


def test_when_every_provider_is_over_its_limit_no_model_is_asked(workspace: Path, serve: Serve) -> None:
    first, second = serve(*COSTLY), serve(says("Four tickets.", (16_000, 200)))
    settings = settings_for(workspace, two(first, second, DAILY, DAILY))
    ask(settings)
    ended = ask(settings)
    assert (ended.status, len(first.requests), len(second.requests)) == ("budget_exceeded", 1, 1)
    assert "providers.a.daily_tokens, providers.b.daily_tokens reached; no model was called" in ended.answer
    assert "wait until " in ended.answer.splitlines()[-1]
    assert ended.of("llm_call") == []


def test_a_call_that_fits_in_at_no_provider_ends_the_run_with_the_limits_named(
    workspace: Path, serve: Serve
) -> None:
    first, second = serve(*SCRIPT), serve(*SCRIPT)
    ended = ask(settings_for(workspace, two(first, second, {"daily_tokens": 100}, {"daily_tokens": 200})))
    assert (ended.status, first.requests, second.requests) == ("budget_exceeded", [], [])
    for text in ("provider a may use 100 tokens a day", "provider b may use 200 tokens a day"):
        assert text in ended.answer


def test_nobody_takes_the_place_of_a_chosen_provider(workspace: Path, serve: Serve) -> None:
    first, second = serve(*COSTLY), serve(*SCRIPT)
    settings = settings_for(workspace, two(first, second, {"daily_tokens": 0}))
    ended = ask(settings, context=RunContext(provider="a"))
    assert (ended.status, first.requests, second.requests) == ("budget_exceeded", [], [])
    assert "providers.a.daily_tokens reached" in ended.answer


def test_a_spent_provider_beside_a_broken_one_is_a_pause_that_names_both(
    workspace: Path, serve: Serve
) -> None:
    first, second = serve(*SCRIPT), serve(refuses(503))
    ended = ask(settings_for(workspace, two(first, second, {"daily_tokens": 100}), failover={"retries": 0}))
    assert ended.status == "paused"
    assert "provider a may use 100 tokens a day" in ended.answer
    assert "provider b answered HTTP 503" in ended.answer


def test_tenants_have_a_limit_each(workspace: Path, serve: Serve) -> None:
    server = serve(*COSTLY, *COSTLY)
    settings = settings_for(workspace, {"a": provider(server, daily_tokens=32_000)})
    assert ask(settings, context=RunContext(tenant="acme")).status == "completed"
    assert ask(settings, context=RunContext(tenant="acme")).status == "budget_exceeded"
    assert ask(settings, context=RunContext(tenant="globex")).status == "completed"


def test_an_unknown_price_under_a_limit_of_cost_sends_nothing(workspace: Path, serve: Serve) -> None:
    server = serve(*SCRIPT)
    ended = ask(settings_for(workspace, {"a": provider(server, monthly_cost=5)}))
    assert (ended.status, server.requests) == ("budget_exceeded", [])
    assert (
        "nobody knows what provider a charges, and providers.a.monthly_cost limits the cost" in ended.answer
    )
    assert "providers.a.prices = {input_per_million = …, output_per_million = …}" in ended.answer


def test_a_stated_price_is_reserved_charged_and_shown(workspace: Path, serve: Serve) -> None:
    server = serve(*SCRIPT)
    settings = settings_for(workspace, {"a": provider(server, monthly_cost="0.05", prices=PRICES)})
    ended = ask(settings)
    assert ended.status == "completed"
    assert [call["cost"] for call in ended.of("llm_call")] == [
        360_000,
        360_000,
    ]  # 1000 · $2 + 200 · $8 per 1M
    (limit,) = usage_of(settings, "provider", utc_now())["limits"]
    assert (limit["limit"], limit["used"], limit["of"]) == ("providers.a.monthly_cost", 720_000, 5_000_000)


def test_what_a_call_may_cost_at_most_is_what_has_to_be_left(workspace: Path, serve: Serve) -> None:
    server = serve(*SCRIPT)
    tight = provider(server, monthly_cost="0.03", prices=PRICES)  # 4096 tokens of a reply are $0.0328
    assert ask(settings_for(workspace, {"a": tight})).status == "budget_exceeded"
    assert server.requests == []


def test_under_a_budget_of_cost_a_priced_provider_serves_for_an_unpriced_one(
    workspace: Path, serve: Serve
) -> None:
    first, second = serve(*SCRIPT), serve(*SCRIPT)
    providers = two(first, second, {}, {"prices": PRICES})
    ended = ask(settings_for(workspace, providers, budgets={"run": {"cost": 1}}))
    assert (ended.status, len(first.requests), len(second.requests)) == ("completed", 0, 2)


def test_a_call_that_nobody_heard_the_end_of_counts_in_full(workspace: Path, serve: Serve) -> None:
    server = serve(hangs())
    quick = provider(server, daily_tokens=50_000, idle_timeout_s=0.3)
    settings = settings_for(workspace, {"a": quick}, failover={"retries": 0})
    assert ask(settings).status == "failed"
    (limit,) = usage_of(settings, "provider", utc_now())["limits"]
    assert limit["used"] > 4096


def used_in_vain(folder: Path, base_url: str, **how: Any) -> list[tuple[int, int | None]]:
    """Ask a provider that fails, and read what is on record for each call: tokens and cost."""
    server = {"base_url": base_url, "model": "m", "prices": PRICES, **how}
    settings = settings_for(folder, {"a": server}, failover={"retries": 0}, planner={"attempts": 1})
    ask(settings)
    with closing(opened_store(folder / ".planwright")) as connection:
        return [(row[0], row[1]) for row in connection.execute("SELECT tokens, cost FROM usage")]


@pytest.mark.parametrize(
    "fails",
    [
        cut_short(),
        resets(),
        no_choices(),
        garbage(),
        says("[]," * 70_000),
        breaks_off("half of it", "cut"),
    ],
    ids=["cut", "reset", "no choices", "no JSON", "too long", "a stream is cut"],
)
def test_a_call_that_failed_after_it_was_sent_counts_in_full(
    workspace: Path, serve: Serve, fails: Reply
) -> None:
    counts = used_in_vain(workspace, serve(fails).base_url)
    assert counts
    assert all(tokens > 4096 and cost and cost > 4096 * 800 for tokens, cost in counts)


def test_a_reply_that_ends_in_an_error_counts_as_it_says(workspace: Path, serve: Serve) -> None:
    counts = used_in_vain(workspace, serve(says("half", (1000, 900), "error")).base_url)
    assert counts
    assert set(counts) == {(1900, 1000 * 200 + 900 * 800)}


@pytest.mark.parametrize("status", [400, 422, 429, 500, 503])
def test_a_call_that_was_refused_counts_as_nothing(workspace: Path, serve: Serve, status: int) -> None:
    counts = used_in_vain(workspace, serve(refuses(status)).base_url)
    assert counts
    assert set(counts) == {(0, 0)}


def test_a_call_that_reached_nobody_counts_as_nothing(workspace: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    counts = used_in_vain(workspace, f"http://127.0.0.1:{port}/v1")
    assert counts
    assert set(counts) == {(0, 0)}


def test_the_estimate_of_the_plan_stands_beside_what_was_used(workspace: Path, serve: Serve) -> None:
    settings = settings_for(workspace, {"a": provider(serve(*SCRIPT), prices=PRICES)})
    ended = ask(settings)
    (end,) = ended.of("run_end")
    assert end["used"]["tokens"] == 2400
    assert end["used"]["cost"] == 720_000
    assert end["estimated"]["model_calls"] == 2
    assert 1200 < end["estimated"]["tokens"] < 2400
    assert 360_000 < end["estimated"]["cost"] < 720_000
    assert ended.record["estimated"] == end["estimated"]
