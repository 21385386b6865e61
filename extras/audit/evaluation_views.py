"""The figures of past runs as a table, with a bar for what should be full."""

from __future__ import annotations

import io
import json
from contextlib import closing
from dataclasses import asdict
from datetime import date
from pathlib import Path

from rich.console import Console
from rich.table import Table

from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.views import rendering as views
from planwright.domain.errors import SetupError
from planwright.extras.audit.chain_views import open_records_file
from planwright.extras.audit.evaluation import By, RunCounts, counts_by

BAR, WIDE = 10, 180  # characters of a full bar, and of a drawing
WIDE_ENOUGH = 150  # cells that the table needs
SHARES = ("plan_pass", "step_completion", "retry", "recovery", "escalation", "lane_success", "replan")


def show_evaluation(by: By, since: str, plot: Path | None, workspace: Path, as_json: bool) -> int:
    """Print what past runs say, by group, and draw it into a file where one is named."""
    since = since and _day(since)
    with closing(open_records_file(load_trusted(workspace))) as connection:
        groups = counts_by(connection, by, since)
    if plot is not None:
        _draw(by, groups, plot)
    if as_json:
        rows = [{by: name, **asdict(counts), **counts.rates()} for name, counts in groups.items()]
        print(json.dumps({"by": by, "since": since, "rows": rows}, indent=2))
        return 0
    screen = views.console()
    if screen.width < WIDE_ENOUGH:
        for name, counts in groups.items():
            screen.print(views.label(name, _in_words(counts)))
        return 0
    screen.print(_table(by, groups))
    return 0


def _day(text: str) -> str:
    """Spell a day as records do, so that they can be compared. Raises SetupError for what is none."""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise SetupError(f"{text!r} is no day", "write it as 2026-11-01") from error


def _in_words(counts: RunCounts) -> str:
    """Put the figures of a group on a line, for a window that has no room for their columns."""
    rates = counts.rates()
    shares = (
        f"{name.replace('_', ' ')} {_percent(rates[name])}" for name in SHARES if rates[name] is not None
    )
    cost = _cost(rates["cost_a_run"])
    tokens = f"{rates['tokens_a_run'] or 0:,.0f} tokens"
    return " · ".join([f"{counts.runs} run{'s' * (counts.runs != 1)}", *shares, tokens, f"{cost} a run"])


def _table(by: By, groups: dict[str, RunCounts]) -> Table:
    names = [name.replace("_", " ") for name in SHARES]
    table = Table(by, "runs", "steps that succeeded", *names, "s to safe end", "tokens a run", "cost a run")
    for name, counts in groups.items():
        rates = counts.rates()
        succeeded, shares = _bar(rates["step_completion"] or 0), [_percent(rates[share]) for share in SHARES]
        seconds, tokens = rates["safe_seconds"], rates["tokens_a_run"]
        means = ["" if seconds is None else f"{seconds:.1f}", f"{tokens or 0:,.0f}"]
        table.add_row(name, str(counts.runs), succeeded, *shares, *means, _cost(rates["cost_a_run"]))
    return table


def _cost(a_run: float | None) -> str:
    return "unpriced" if a_run is None else views.dollars(round(a_run))


def _draw(by: By, groups: dict[str, RunCounts], path: Path) -> None:
    """Draw the shares as bars, one row a group. Raises SetupError where the file cannot be written."""
    table = Table(by, "runs", *(name.replace("_", " ") for name in SHARES))
    for name, counts in groups.items():
        rates = counts.rates()
        bars = [_bar(share) for share in map(rates.get, SHARES)]
        table.add_row(name, str(counts.runs), *bars)
    console = Console(record=True, file=io.StringIO(), width=WIDE)
    console.print(table)
    try:
        path.write_text(console.export_svg(title="planwright eval"), "utf-8")
    except OSError as error:
        raise SetupError(f"{path} cannot be written: {error.strerror}", "name another file") from error


def _bar(share: float | None) -> str:
    if share is None:
        return ""
    full = round(share * BAR)
    return f"{'█' * full}{'░' * (BAR - full)} {share:.0%}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"
