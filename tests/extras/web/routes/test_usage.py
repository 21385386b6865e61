"""Usage and evaluation: the figures of the page are those of the commands, of one tenant alone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import get_args

from planwright.cli.views.usage_views import usage_of
from planwright.extras.audit.evaluation import By, counts_by
from planwright.records.history.usage_history import UsageScope, Used, limits_of, used_by
from planwright.settings.provider_budget import ProviderBudgetSettings
from tests.extras.web.conftest import TOKENS, MakeStage, Stage

FIGURES = ("name", "model_calls", "tokens", "cost", "unpriced", "calls")


async def completed(stage: Stage) -> None:
    """Take a run to its end."""
    ada = await stage.sign_in()
    run_id, gate_id = await stage.waiting_gate(ada)
    await stage.answer(ada, gate_id, "approve")
    assert await stage.ended(run_id) == "completed"


async def test_the_figures_of_the_page_are_those_of_the_command(make_stage: MakeStage) -> None:
    stage = make_stage()
    await completed(stage)
    now = datetime.now(UTC)
    since = (now - timedelta(days=1)).date().isoformat()
    scope = UsageScope(now, "default", since)
    days = await stage.parts.read(used_by, "day", scope)
    providers = await stage.parts.read(used_by, "provider", scope)
    by_day = usage_of(stage.parts.settings, "day", now)["rows"]
    by_provider = usage_of(stage.parts.settings, "provider", now)["rows"]
    assert list(map(_listed, days)) == list(map(_figures, by_day))
    assert list(map(_listed, providers)) == list(map(_figures, by_provider))
    (agent,) = await stage.parts.read(used_by, "agent", scope)
    assert (agent.name, agent.calls, agent.model_calls) == ("", 1, by_day[0]["model_calls"])


def _listed(row: Used) -> dict[str, object]:
    return {name: getattr(row, name) for name in FIGURES}


def _figures(row: dict[str, object]) -> dict[str, object]:
    return {name: row[name] for name in FIGURES[:-1]} | {"calls": row.get("tool_calls", 0)}


async def test_days_before_the_first_and_other_tenants_are_left_out(make_stage: MakeStage) -> None:
    stage = make_stage()
    await completed(stage)
    now = datetime.now(UTC)
    tomorrow = (now + timedelta(days=1)).date().isoformat()
    assert await stage.parts.read(used_by, "day", UsageScope(now, "default", tomorrow)) == []
    assert await stage.parts.read(used_by, "agent", UsageScope(now, "other")) == []


async def test_limits_of_providers_show_what_is_left(make_stage: MakeStage) -> None:
    stage = make_stage()
    await completed(stage)
    now = datetime.now(UTC)
    budgets = {"scripted": ProviderBudgetSettings(daily_tokens=1_000_000)}
    ((tenant, limit),) = await stage.parts.read(limits_of, ["default"], budgets, now)
    assert tenant == "default"
    assert limit.setting == "providers.scripted.daily_tokens"


async def test_pages_of_usage_and_evaluation_are_drawn(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in(TOKENS["ada"])
    assert "Nothing was used" in (await ada.get("/workspace/usage")).text
    assert "No run has ended" in (await ada.get("/workspace/evaluation")).text
    await completed(stage)
    page = (await ada.get("/workspace/usage?days=7")).text
    assert "calls by day: 1 in 7 days" in page
    assert page.count("<rect") >= 7
    assert "budgets.run.tool_calls" in page
    for by in (*get_args(By), "nonsense"):
        page = (await ada.get(f"/workspace/evaluation?by={by}&days=x")).text
        assert "steps that succeeded: 100%" in page
        assert ">1 run<" in page
    eve = await stage.sign_in(TOKENS["eve"])
    assert "No run has ended" in (await eve.get("/workspace/evaluation")).text


async def test_the_figures_of_past_runs_are_those_of_the_command(make_stage: MakeStage) -> None:
    stage = make_stage()
    await completed(stage)
    counts = await stage.agent.stores.database.read(lambda connection: counts_by(connection, "all"))
    page = (await (await stage.sign_in()).get("/workspace/evaluation")).text
    for label, share in (("plans that passed", "plan_pass"), ("runs planned again", "replan")):
        assert f"{label}: {counts['all'].rates()[share]:.0%}" in page


async def test_runs_are_in_the_groups_of_the_command(make_stage: MakeStage) -> None:
    stage = make_stage()
    await completed(stage)
    ada = await stage.sign_in()
    no_group = {"all": "all runs", "agent": "no agent"}
    for by in get_args(By):
        groups = await stage.agent.stores.database.read(partial(counts_by, by=by))
        page = (await ada.get(f"/workspace/evaluation?by={by}")).text
        titles = re.findall(r'<section class="card"><h2>(.*?) <span', page)
        assert titles == [no_group.get(by, name) for name in groups], by
