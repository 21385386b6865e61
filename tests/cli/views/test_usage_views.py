"""`planwright usage`: what was used, by whom, of what limit, and what is held in reserve."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from planwright.cli.views.paging import Page
from planwright.cli.views.usage_views import show_usage, usage_of
from planwright.domain.results import StepResult
from planwright.records.budget_usage import Amount, BudgetedCall
from planwright.records.history.usage_history import By
from planwright.records.records import Records, open_records
from planwright.records.runs import Run
from planwright.settings.agents import RunBudgetSettings
from planwright.settings.settings import Settings, load
from tests.cli.desk import Desk

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CENT = 1_000_000
PROVIDERS = """
[providers.near]
model = "m"
daily_tokens = 1000
monthly_cost = 0.10
prices = { input_per_million = 1, output_per_million = 2 }
[providers.far]
model = "m"
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "planwright.toml").write_text(PROVIDERS, "utf-8")
    return load(tmp_path)


@pytest.fixture
def records(settings: Settings) -> Iterator[Records]:
    """A store in which two tenants used two providers, on two days of two months."""
    opened = open_records(settings.store_folder)
    asyncio.run(_fill(opened))
    yield opened
    opened.close()


async def _fill(records: Records) -> None:
    async def use(
        run: str,
        tenant: str,
        provider: str,
        tokens: int,
        cost: int | None,
        days_ago: int,
        settled: bool = True,
    ) -> None:
        at = NOW - timedelta(days=days_ago)
        amount = Amount(tokens, cost=cost)
        kept = await records.budgets.reserve(
            BudgetedCall(run, tenant, provider, "model", amount), RunBudgetSettings(), at
        )
        if settled:
            await records.budgets.settle(kept, amount)

    await use("run_3", "globex", "near", 1600, 8 * CENT, 30)
    await use("run_2", "acme", "near", 800, 4 * CENT, 1)
    await use("run_2", "acme", "near", 70, 1 * CENT, 1, settled=False)
    await use("run_1", "acme", "near", 100, 1 * CENT, 0)
    await use("run_1", "acme", "near", 200, None, 0)
    await use("run_1", "acme", "far", 400, 2 * CENT, 0)
    await use("run_2", "acme", "near", 50, 1 * CENT, 0, settled=False)
    lease = await records.leases.take(RUN, 60)
    for uid, capability, status in (("a", "files.read", "completed"), ("b", "agent", "completed")):
        done = StepResult(uid=uid, step_id=uid, capability=capability, status="completed")
        records.ledger.settle_step(lease, done.model_copy(update={"status": status}), NOW)
    skipped = StepResult(uid="c", step_id="c", capability="files.read", status="skipped")
    records.ledger.settle_step(lease, skipped, NOW)
    await records.ledger.settled_steps(lease.run_id)  # what rides is committed first


RUN = Run(
    run_id="run_1",
    thread_id="thread_1",
    tenant="acme",
    status="running",
    request="",
    messages=[],
    context={},
    started_at=NOW.isoformat(),
)
COUNTED: dict[By, list[tuple[str, int, int, int, int, int]]] = {
    "provider": [("far", 1, 400, 2 * CENT, 0, 0), ("near", 5, 2750, 14 * CENT, 1, 1)],
    "run": [
        ("run_1", 3, 700, 3 * CENT, 1, 0),
        ("run_2", 2, 850, 5 * CENT, 0, 1),
        ("run_3", 1, 1600, 8 * CENT, 0, 0),
    ],
    "day": [
        ("2026-10-22", 1, 1600, 8 * CENT, 0, 0),
        ("2026-11-20", 1, 800, 4 * CENT, 0, 0),
        ("2026-11-21", 4, 750, 4 * CENT, 1, 1),
    ],
    "tenant": [("acme", 5, 1550, 8 * CENT, 1, 1), ("globex", 1, 1600, 8 * CENT, 0, 0)],
}


@pytest.mark.parametrize("by", COUNTED)
def test_it_sums_up_by(records: Records, settings: Settings, by: By) -> None:
    names = ("name", "model_calls", "tokens", "cost", "unpriced", "reserved")
    rows = [tuple(row[name] for name in names) for row in usage_of(settings, by, NOW)["rows"]]
    assert rows == COUNTED[by]


def test_calls_of_capabilities_are_counted_where_they_belong_to_somebody(
    records: Records, settings: Settings
) -> None:
    by_run = {row["name"]: row["tool_calls"] for row in usage_of(settings, "run", NOW)["rows"]}
    assert by_run == {"run_1": 1, "run_2": 0, "run_3": 0}
    assert "tool_calls" not in usage_of(settings, "provider", NOW)["rows"][0]


def test_it_tells_what_is_left_of_each_limit_for_each_tenant(records: Records, settings: Settings) -> None:
    limits = usage_of(settings, "provider", NOW)["limits"]
    near, month = "providers.near.daily_tokens", "providers.near.monthly_cost"
    told = [(x["tenant"], x["limit"], x["window"], x["used"], x["of"], x["left"]) for x in limits]
    assert told == [
        ("acme", near, "2026-11-21", 350, 1000, 650),
        ("acme", month, "2026-11", 6 * CENT, 10 * CENT, 4 * CENT),
        ("globex", near, "2026-11-21", 0, 1000, 1000),
        ("globex", month, "2026-11", 0, 10 * CENT, 10 * CENT),
    ]
    assert [limit["unpriced"] for limit in limits] == [1, 1, 0, 0]


def test_what_it_tells_of_a_limit_is_what_a_reservation_sees(records: Records, settings: Settings) -> None:
    within = settings.providers["near"]
    seen = asyncio.run(records.budgets.of_provider("acme", "near", within, NOW))
    told = [x for x in usage_of(settings, "provider", NOW)["limits"] if x["tenant"] == "acme"]
    assert [(x["limit"], x["used"], x["left"]) for x in told] == [(x.setting, x.used, x.left) for x in seen]


def test_it_tells_reservations_that_are_open_and_those_of_processes_that_died(
    records: Records, settings: Settings
) -> None:
    held = usage_of(settings, "provider", NOW)["reservations"]
    assert held == {
        "open": {"count": 1, "tokens": 50, "cost": CENT},
        "expired": {"count": 1, "tokens": 70, "cost": CENT},
    }


def test_a_new_workspace_has_used_nothing(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert show_usage("provider", settings.workspace, Page(), as_json=False) == 0
    assert "nothing was used yet" in capsys.readouterr().out
    assert usage_of(settings, "day", NOW)["rows"] == []


def test_the_command_prints_a_table_the_limits_and_the_reservations(desk: Desk) -> None:
    desk.settings(PROVIDERS)
    opened = open_records(load(desk.folder).store_folder)
    asyncio.run(_fill(opened))
    opened.close()
    done = desk.run("usage", "--by", "run")
    assert (done.code, done.stderr) == (0, "")
    table = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert table[0] == "run model calls tool calls tokens cost unpriced reserved"
    assert table[1] == "run_1 3 1 700 $0.03 1 0"
    assert any(line.startswith("limit providers.near.daily_tokens of tenant acme in 20") for line in table)
    assert "reserved 2 expired: 120 tokens, $0.02" in table


def test_json_holds_the_same(desk: Desk) -> None:
    found: dict[str, Any] = desk.run("usage", "--by", "tenant", "--json").json
    assert found["by"] == "tenant"
    assert set(found) == {"by", "rows", "limits", "reservations", "total", "page", "pages", "limit"}


def test_doctor_asks_for_a_price_where_the_cost_is_limited(desk: Desk) -> None:
    priced = "prices = { input_per_million = 1, output_per_million = 2 }\n"
    of_one = '[providers.near]\nmodel = "my-own-7b"\napi_key = "k"\nmonthly_cost = 1\n'
    desk.settings(of_one)
    asked = desk.run("doctor")
    assert asked.code == 1
    assert "nobody knows what provider near charges" in asked.stdout
    assert "providers.near.prices = {input_per_million" in asked.stdout
    desk.settings(of_one + priced)
    assert "provider   ok   near: my-own-7b" in desk.run("doctor").stdout
    desk.settings(of_one + "[providers.near.models.my-own-70b]\n" + priced)
    assert "nobody knows what provider near charges" in desk.run("doctor").stdout
    desk.settings(of_one + priced + "[providers.near.models.my-own-70b]\n")
    assert "near: my-own-7b, my-own-70b" in desk.run("doctor").stdout


def test_a_run_out_of_time_exits_6(desk: Desk) -> None:
    desk.settings("[budgets.run]\nwall_clock_s = 0\n")
    done = desk.run("run", "What tickets are open?")
    assert done.code == 6
    assert "budgets.run.wall_clock_s allows 0 s" in done.stdout
