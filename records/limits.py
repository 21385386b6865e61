"""A limit as it stands, what it means for the next call, and how that is said.

Money is counted in micro-cents (1 US dollar = 100,000,000), so nothing is lost to rounding.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from planwright.domain.clock import Window
from planwright.domain.errors import BudgetExceeded, ProviderBudgetExceeded
from planwright.domain.results import MICRO_CENTS_PER_DOLLAR
from planwright.domain.shortage import Shortage
from planwright.presentation.figures import amount_text

Unit = Literal["tokens", "tool_calls", "model_calls", "cost", "seconds"]


@dataclass(frozen=True)
class Limit:
    """One limit that is set, by the name of its setting, and what is used of it.

    `used` and `most` are in the limit's unit, a cost in micro-cents. A provider's limit counts in a
    window; a run's counts from its beginning to its end, and has none.
    """

    setting: str
    """Name of the setting that sets it."""
    unit: Unit
    """What is counted."""
    used: int
    """How much is used so far, in that unit; a cost in micro-cents."""
    most: int
    """How much may be used, in that unit; a cost in micro-cents."""
    provider: str = ""
    """Name of the provider it is a limit of; "" for one of a run."""
    window: Window | None = None
    """Day or month that it counts in; None for a run's."""

    @property
    def provider_window(self) -> Window:
        """The day or month that it counts in. Raises ValueError for a limit of a run, which has none."""
        if self.window is None:
            raise ValueError(f"{self.setting} counts over a whole run: it has no window")
        return self.window

    @property
    def left(self) -> int:
        """What may still be used."""
        return max(0, self.most - self.used)

    @property
    def reached(self) -> bool:
        """Whether nothing is left."""
        return self.left == 0

    @property
    def near(self) -> bool:
        """Whether 80 % is used."""
        return self.used > 0 and 10 * self.used >= 8 * self.most

    @property
    def key(self) -> str:
        """The limit and its window: what is warned of once."""
        return f"{self.setting}:{self.window.name}" if self.window else self.setting

    def covers(self, wanted: int) -> bool:
        """Say whether a call that may use this much fits in."""
        return not wanted or self.used + wanted <= self.most


def refuse_overspending(limits: Iterable[Limit], wanted: dict[Unit, int]) -> None:
    """Raise BudgetExceeded for the first limit that does not cover a call; of a provider, its own error."""
    for limit in limits:
        if not limit.covers(wanted.get(limit.unit, 0)):
            raise limit_error(limit, wanted[limit.unit])


def limit_error(limit: Limit, wanted: int) -> BudgetExceeded:
    """Say which limit a call would break, and what to do."""
    needed = f"{amount_text(limit.unit, wanted)} more needed"
    if limit.window is None:
        return BudgetExceeded(
            limit.setting,
            f"the run budget of {amount_text(limit.unit, limit.most)} is spent:"
            f" {amount_text(limit.unit, limit.used)} used, {needed}",
            f"raise {limit.setting} in planwright.toml, then run again",
            shortage_of(limit, wanted),
        )
    return ProviderBudgetExceeded(
        limit.provider, limit.setting, f"{standing(limit)}, {needed}", f"{waiting(limit)}, then run again"
    )


def shortage_of(limit: Limit, wanted: int = 1) -> Shortage:
    """Say how much of a limit of a run is missing for what comes next, in the unit of its setting."""
    scale = MICRO_CENTS_PER_DOLLAR if limit.unit == "cost" else 1
    return Shortage(limit.unit, limit.most / scale, max(0, limit.used + wanted - limit.most) / scale)


def unpriced(provider: str, setting: str) -> ProviderBudgetExceeded:
    """Refuse a call that could cost anything, where a limit of cost is set."""
    return ProviderBudgetExceeded(
        provider,
        setting,
        f"nobody knows what provider {provider} charges, and {setting} limits the cost",
        f"state it in US dollars, providers.{provider}.prices = {{input_per_million = …,"
        f" output_per_million = …}}, or take {setting} out of planwright.toml",
    )


def standing(limit: Limit) -> str:
    """Say how much of a provider's limit is used."""
    window = limit.provider_window
    return (
        f"provider {limit.provider} may use {amount_text(limit.unit, limit.most)} a {window.period}:"
        f" {amount_text(limit.unit, limit.used)} used in {window.name} (UTC)"
    )


def waiting(limit: Limit) -> str:
    """Say what lets a provider serve again."""
    end = limit.provider_window.end
    return f"wait until {end} 00:00 UTC, or raise {limit.setting} in planwright.toml"


def micro_cents(dollars: Decimal) -> int:
    """Count a limit in micro-cents, rounded down: a limit never grows."""
    return int(dollars * MICRO_CENTS_PER_DOLLAR)
