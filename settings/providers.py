"""The settings of providers: where models are served, and what happens when one fails."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from planwright.domain.model_hint import ModelCapability
from planwright.settings.provider_budget import Prices, ProviderBudget


def _http(value: str) -> str:
    if not re.match(r"https?://[^/\s]", value):
        raise ValueError("an address begins with http:// or https://")
    return value


Address = Annotated[str, AfterValidator(_http)]


class ServedModel(BaseModel):
    """One model of a provider; what it leaves out is as at its provider."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    capabilities: tuple[ModelCapability, ...] | None = None
    context: int | None = Field(None, ge=1)
    prices: Prices | None = None


class Provider(ProviderBudget):
    """One OpenAI-compatible endpoint; lower priority numbers are tried first.

    Several keys are used in turn: one that is refused or limited makes way for the next. `model` serves
    unless a step needs what only another of its `models` can. Calls go through `proxy`; those of the
    environment are not read.
    """

    model: str
    models: dict[str, ServedModel] = Field(default_factory=dict)
    base_url: Address | None = None
    proxy: Address | None = None
    api_key: SecretStr | None = None
    api_keys: tuple[SecretStr, ...] = ()
    api_key_env: str | tuple[str, ...] | None = None
    priority: int = 100
    capabilities: tuple[ModelCapability, ...] = ("function_calling", "streaming", "json_mode")
    context: int = Field(128_000, ge=1)
    timeout_s: float = Field(60, gt=0)

    def serving(self, model: str) -> Provider:
        """Describe the provider as it serves one model: its capabilities, context and prices."""
        own = self.models.get(model, ServedModel())
        said = {name: value for name in own.model_fields_set if (value := getattr(own, name)) is not None}
        return self.model_copy(update={**said, "model": model})

    @property
    def served(self) -> tuple[Provider, ...]:
        """The provider as it serves each of its models, its usual one first."""
        return tuple(self.serving(model) for model in dict.fromkeys((self.model, *self.models)))


class Failover(BaseModel):
    """How often, and after how long, a failed call is made again, and how long a key then rests."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_ms: float = Field(250, ge=0)
    cap_s: float = Field(8, ge=0)
    jitter: float = Field(0.2, ge=0, lt=1)
    retries: int = Field(3, ge=0)
    key_cooldown_s: float = Field(60, ge=0)


class Breaker(BaseModel):
    """After how many failures in a row an endpoint is left alone, and for how long."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    failures: int = Field(5, ge=1)
    open_s: float = Field(30, gt=0)
