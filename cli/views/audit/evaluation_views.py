"""The figures of past runs as a table, with a bar for what should be full."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from planwright.cli.views import rendering as views
from planwright.cli.views.audit.chain_views import open_records_file
from planwright.replay.evaluation import By, RunCounts, counts_by
from planwright.settings.settings import load

BAR = 10  # characters of a full bar
SHARES = ("plan_pass", "step_completion", "retry", "recovery", "escalation", "lane_success", "replan")


def show_evaluation(by: By, since: str, workspace: Path, as_json: bool) -> int:
    """Print what past runs say, by group."""
    with closing(open_records_file(load(workspace))) as connection:
        groups = counts_by(connection, by, since)
    if as_json:
        rows = [{by: name, **asdict(counts), **counts.rates()} for name, counts in groups.items()]
        print(json.dumps({"by": by, "since": since, "rows": rows}, indent=2))
        return 0
    views.console().print(_table(by, groups))
    return 0


def _table(by: By, groups: dict[str, RunCounts]) -> Table:
    names = [name.replace("_", " ") for name in SHARES]
    table = Table(by, "runs", "steps that succeeded", *names, "s to safe end", "tokens a run", "cost a run")
    for name, counts in groups.items():
        rates = counts.rates()
        done = rates["step_completion"] or 0
        bar = "█" * round(done * BAR) + "░" * (BAR - round(done * BAR))
        shares = [_percent(rates[share]) for share in SHARES]
        seconds, tokens, cost = rates["safe_seconds"], rates["tokens_a_run"], rates["cost_a_run"]
        means = ["" if seconds is None else f"{seconds:.1f}", f"{tokens or 0:,.0f}"]
        table.add_row(name, str(counts.runs), bar, *shares, *means, views.dollars(round(cost or 0)))
    return table


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"
