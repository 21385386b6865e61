"""What a provider charges, and how much of it may be used."""

from __future__ import annotations

from decimal import Decimal

from pydantic import BaseModel, ConfigDict, Field


class PriceSettings(BaseModel):
    """US dollars for a million tokens that are sent, and for a million that come back."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    input_per_million: Decimal = Field(ge=0)
    """US dollars for a million tokens that are sent."""
    output_per_million: Decimal = Field(ge=0)
    """US dollars for a million tokens that come back."""


class ProviderBudgetSettings(BaseModel):
    """Limits of one provider, for each tenant by itself; unset means no limit.

    Days and months are those of UTC, `monthly_cost` is in US dollars. `prices` count for every model
    of the provider that states none itself; without them, the public price list does.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    daily_tokens: int | None = Field(None, ge=0)
    """Most tokens a day (UTC) for each tenant; None for no limit."""
    monthly_cost: Decimal | None = Field(None, ge=0)
    """Most US dollars a month (UTC) for each tenant; None for no limit."""
    prices: PriceSettings | None = None
    """Prices of its models that state none themselves; None for those of the public list."""
