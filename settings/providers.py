"""The settings of providers: where models are served, and what happens when one fails."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from planwright.domain.model_hint import ModelCapability
from planwright.settings.provider_budget import PriceSettings, ProviderBudgetSettings


def _http(value: str) -> str:
    if not re.match(r"https?://[^/\s]", value):
        raise ValueError("an address begins with http:// or https://")
    return value


Address = Annotated[str, AfterValidator(_http)]


class ServedModelSettings(BaseModel):
    """One model of a provider; what it leaves out is as at its provider."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    capabilities: tuple[ModelCapability, ...] | None = None
    """What the model can do; None for what its provider says."""
    context: int | None = Field(None, ge=1)
    """Size of its context in tokens; None for that of its provider."""
    prices: PriceSettings | None = None
    """Its prices; None for those of its provider."""


class ProviderSettings(ProviderBudgetSettings):
    """One OpenAI-compatible endpoint; lower priority numbers are tried first.

    Several keys are used in turn: one that is refused or limited makes way for the next. `model` serves
    unless a step needs what only another of its `models` can. Calls go through `proxy`; those of the
    environment are not read.
    """

    model: str
    """Name of the model that serves unless a step asks for another."""
    models: dict[str, ServedModelSettings] = Field(default_factory=dict)
    """Other models of the provider, by name."""
    base_url: Address | None = None
    """Address of the endpoint; None for that of OpenAI."""
    proxy: Address | None = None
    """Address of the proxy that calls go through; None for a direct connection."""
    api_key: SecretStr | None = None
    """Its one key, written in the settings; None for none."""
    api_keys: tuple[SecretStr, ...] = ()
    """More keys, used in turn."""
    api_key_env: str | tuple[str, ...] | None = None
    """Variables of the environment with keys, where the settings have none; None: OPENAI_API_KEY."""
    priority: int = 100
    """Rank among the providers: the lowest number is tried first."""
    capabilities: tuple[ModelCapability, ...] = ("function_calling", "streaming", "json_mode")
    """What its models can do, unless one says otherwise."""
    context: int = Field(128_000, ge=1)
    """Size of the context of its models in tokens."""
    timeout_s: float = Field(60, gt=0)
    """Seconds that the connection may bring nothing."""

    def serving(self, model: str) -> ProviderSettings:
        """Describe the provider as it serves one model: its capabilities, context and prices."""
        own = self.models.get(model, ServedModelSettings())
        own_value = {
            name: value for name in own.model_fields_set if (value := getattr(own, name)) is not None
        }
        return self.model_copy(update={**own_value, "model": model})

    @property
    def served(self) -> tuple[ProviderSettings, ...]:
        """The provider as it serves each of its models, its usual one first."""
        return tuple(self.serving(model) for model in dict.fromkeys((self.model, *self.models)))


class FailoverSettings(BaseModel):
    """How often, and after how long, a failed call is made again, and how long a key then rests."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_ms: float = Field(250, ge=0)
    """Milliseconds before the first retry; each further wait is twice as long."""
    cap_s: float = Field(8, ge=0)
    """Seconds that no such wait exceeds."""
    jitter: float = Field(0.2, ge=0, lt=1)
    """Share by which a wait is made longer or shorter at random."""
    retries: int = Field(3, ge=0)
    """How often one provider is asked again with keys that do not rest."""
    key_cooldown_s: float = Field(60, ge=0)
    """Seconds that a key rests after a failure where the provider names no time."""


class BreakerSettings(BaseModel):
    """After how many failures in a row an endpoint is left alone, and for how long."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    failures: int = Field(5, ge=1)
    """How many failures in a row open the breaker."""
    open_s: float = Field(30, gt=0)
    """Seconds that an open breaker keeps the endpoint from being asked."""
