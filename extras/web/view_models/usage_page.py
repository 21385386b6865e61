"""What was used and how past runs did, as charts and rows. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from planwright.extras.audit.evaluation import RunCounts
from planwright.extras.web import words
from planwright.extras.web.drawing.bars import Bar, draw_bars, draw_share
from planwright.presentation.figures import UNIT_WORDS, amount_text, dollars
from planwright.records.history.usage_history import Used
from planwright.records.limits import Limit
from planwright.settings.agents import RunBudgetSettings

PERIODS = (7, 30, 90)
SHARES = {
    "step_completion": "steps that succeeded",
    "plan_pass": "plans that passed",
    "retry": "steps tried again",
    "recovery": "of them recovered",
    "replan": "runs planned again",
    "escalation": "runs that asked about a failure",
    "lane_success": "steps by agents that succeeded",
}
_RUN_LIMITS = ("tokens", "model_calls", "tool_calls", "cost", "wall_clock_s", "effects", "effects_per_minute")


@dataclass(frozen=True)
class Chart:
    """One measure, day by day."""

    title: str
    """What is measured."""
    total: str
    """Sum of all days, in words."""
    picture: str
    """Its bars as an SVG."""


@dataclass(frozen=True)
class LimitRow:
    """One limit of a provider, as it stands."""

    setting: str
    """Name of the setting."""
    window: str
    """Day or month that it counts in."""
    used: str
    """What is used, in words."""
    most: str
    """What may be used, in words."""
    left: str
    """What is left, in words."""
    picture: str
    """The used share as an SVG."""


@dataclass(frozen=True)
class ShareCell:
    """One share of a group of runs."""

    text: str
    """The share in percent; "" where there is nothing to divide by."""
    picture: str
    """The share as an SVG; "" for none."""


@dataclass(frozen=True)
class EvaluationRow:
    """How a group of runs did."""

    name: str
    """Name of the group."""
    runs: int
    """How many runs it has."""
    shares: Sequence[ShareCell]
    """Shares, in the order of SHARES."""
    means: Sequence[str]
    """Seconds to a safe end, tokens a run and cost a run, in words."""


def days_of(rows: Sequence[Used], last: date, count: int) -> list[Used]:
    """List the days up to the last one, those without use, too."""
    known = {row.name: row for row in rows}
    days = [(last - timedelta(days=back)).isoformat() for back in range(count - 1, -1, -1)]
    return [known.get(day, Used(day)) for day in days]


def charts(days: Sequence[Used]) -> list[Chart]:
    """Draw each measure that is not zero all the time."""
    measures: Sequence[tuple[str, Callable[[Used], int], Callable[[int], str]]] = (
        ("calls", lambda day: day.calls, lambda n: f"{n:,}"),
        ("model calls", lambda day: day.model_calls, lambda n: f"{n:,}"),
        ("tokens", lambda day: day.tokens, lambda n: f"{n:,}"),
        ("cost", lambda day: day.cost, dollars),
    )
    drawn = []
    for title, count, spelled in measures:
        bars = [Bar(f"{day.name}: {spelled(count(day))}", count(day)) for day in days]
        total = spelled(sum(map(count, days)))
        if picture := draw_bars(bars, f"{title} by day: {total} in {len(days)} days"):
            drawn.append(Chart(title, total, picture))
    return drawn


def limit_rows(limits: Sequence[Limit]) -> list[LimitRow]:
    """Lay out how limits of providers stand."""
    return [_limit_row(limit) for limit in limits]


def _limit_row(limit: Limit) -> LimitRow:
    share, kind = limit.used / limit.most if limit.most else 1, "failed" if limit.reached else ""
    picture = draw_share(share, f"{share:.0%} used", kind or ("waiting" if limit.near else ""))
    window = limit.window.name if limit.window else ""
    used, most, left = (amount_text(limit.unit, value) for value in (limit.used, limit.most, limit.left))
    return LimitRow(limit.setting, window, used, most, left, picture)


def run_limits(limits: RunBudgetSettings) -> list[tuple[str, str]]:
    """Say what one run may use, by the names of the settings."""
    values = ((name, UNIT_WORDS[name], getattr(limits, name)) for name in _RUN_LIMITS)
    return [
        (limits.setting(name), "no limit" if most is None else f"{most:,} {unit}")
        for name, unit, most in values
    ]


def evaluation_rows(groups: Mapping[str, RunCounts]) -> list[EvaluationRow]:
    """Lay out how groups of runs did."""
    return [_evaluation_row(name, counts) for name, counts in groups.items()]


def _evaluation_row(name: str, counts: RunCounts) -> EvaluationRow:
    rates = counts.rates()
    shares = [_share(label, rates[key]) for key, label in SHARES.items()]
    means = [
        words.duration(rates["safe_seconds"]),
        f"{rates['tokens_a_run'] or 0:,.0f}",
        "unpriced" if rates["cost_a_run"] is None else dollars(round(rates["cost_a_run"])),
    ]
    return EvaluationRow(name, counts.runs, shares, means)


def _share(label: str, share: float | None) -> ShareCell:
    if share is None:
        return ShareCell("", "")
    return ShareCell(f"{share:.0%}", draw_share(share, f"{label}: {share:.0%}"))
