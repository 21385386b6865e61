"""The settings of providers: where models are served, and what happens when one fails."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, SecretStr

from planwright.domain.model_hint import ModelCapability
from planwright.settings.model_profiles import OPENAI, is_installed, known_of
from planwright.settings.provider_budget import PriceSettings, ProviderBudgetSettings


def _http(value: str) -> str:
    if not re.match(r"https?://[^/\s]", value):
        raise ValueError("an address begins with http:// or https://")
    return value


def _import_path(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", value):
        raise ValueError("a class is named by its module, a colon, and its own name")
    return value


Address = Annotated[str, AfterValidator(_http)]
ImportPath = Annotated[str, AfterValidator(_import_path)]
Thinking = Literal["off", "low", "medium", "high"]
USUAL_KEYS: Mapping[str, str] = MappingProxyType(
    {
        "langchain_anthropic": "ANTHROPIC_API_KEY",
        "langchain_google_genai": "GOOGLE_API_KEY",
        "langchain_mistralai": "MISTRAL_API_KEY",
        "langchain_openai": "OPENAI_API_KEY",
    }
)
"""Variables that the packages of LangChain read their keys from."""


class ServedModelSettings(BaseModel):
    """One model of a provider; what it leaves out is as at its provider."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    capabilities: tuple[ModelCapability, ...] | None = None
    """What the model can do; None for what its provider says."""
    context: int | None = Field(None, ge=1)
    """Size of its context in tokens; None for that of its provider."""
    prices: PriceSettings | None = None
    """Its prices; None for those of its provider."""
    thinking: Thinking | None = None
    """How much the model is to think before it answers; None for what its provider says."""
    thinking_tokens: int | None = Field(None, ge=1)
    """Tokens that it may think, beside those of its answers; None for what its provider says."""
    max_output: int | None = Field(None, ge=1)
    """Most tokens that it can return at once, with those that it thinks; None for what its provider says."""


class ProviderSettings(ProviderBudgetSettings):
    """One endpoint, OpenAI-compatible or of a chat model of LangChain; lower priorities are tried first.

    Several keys are used in turn: one that is refused or limited makes way for the next. `model` serves
    unless a step needs what only another of its `models` can. Calls go through `proxy`; those of the
    environment are not read.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    model: str
    """Name of the model that serves unless a step asks for another."""
    api: Literal["chat", "responses"] = "chat"
    """Which API of OpenAI it is asked by: chat completions, or responses."""
    chat_class: ImportPath | None = Field(None, alias="class")
    """Chat model of LangChain that asks it instead, as `langchain_anthropic:ChatAnthropic`; None for none."""
    options: dict[str, JsonValue] = Field(default_factory=dict)
    """More fields of each request to it; of a class, more arguments that it is made with."""
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
    """Variables of the environment with keys, where the settings have none; None for the usual one."""
    priority: int = 100
    """Rank among the providers: the lowest number is tried first."""
    capabilities: tuple[ModelCapability, ...] = ("function_calling", "streaming", "json_mode")
    """What its models can do, unless one says otherwise."""
    context: int = Field(128_000, ge=1)
    """Size of the context of its models in tokens."""
    idle_timeout_s: float = Field(120, gt=0)
    """Seconds that a streamed reply may bring nothing, not even a comment; five times that for others."""
    reply_timeout_s: float = Field(900, gt=0)
    """Seconds that a reply may take in all."""
    max_concurrent: int = Field(64, ge=1)
    """Most calls that one process makes at it at once; further ones wait before their time begins."""
    max_output: int | None = Field(None, ge=1)
    """Most tokens that its models can return at once, with those that they think; None where that is open."""
    thinking: Thinking | None = None
    """How much its models are to think before they answer; None for as much as they do unasked."""
    thinking_tokens: int | None = Field(None, ge=1)
    """Tokens that they may think, beside those of their answers; None for what goes with `thinking`."""

    def serving(self, model: str) -> ProviderSettings:
        """Describe the provider as it serves one model: its capabilities, context and prices."""
        own = self.models.get(model, ServedModelSettings())
        own_value = {
            name: value for name in own.model_fields_set if (value := getattr(own, name)) is not None
        }
        return self.model_copy(update={**self._known_of(model), **own_value, "model": model})

    @property
    def usual_key(self) -> str:
        """The variable that programs read the key of such a provider from; "" for none."""
        return USUAL_KEYS.get(self._package, "") if self.chat_class else "OPENAI_API_KEY"

    @property
    def needs_key(self) -> bool:
        """Whether nothing is served without a key: a local endpoint may do without."""
        usual = self.base_url is None and bool(self.usual_key)
        return usual or bool(self.api_key_env)

    @property
    def asked_by(self) -> str:
        """Where, or by which class, the provider is asked, for people."""
        place = self.base_url or ("" if self.chat_class else "api.openai.com")
        return " at ".join(filter(None, (self.chat_class, place)))

    @property
    def absent_package(self) -> str | None:
        """The package of its class, where that is not installed; None where all is there."""
        return None if is_installed(self._package) else self._package

    @property
    def _package(self) -> str:
        """The package of the class that asks."""
        return self.chat_class.partition(":")[0].partition(".")[0] if self.chat_class else OPENAI

    def origin_of(self, name: str, model: str) -> str:
        """Say where a setting of one of its models comes from, in a word; ask as the settings have it."""
        if getattr(self.models.get(model), name, None) is not None or name in self.model_fields_set:
            return "set"
        return "LangChain's profile" if name in self._known_of(model) else "default"

    def _known_of(self, model: str) -> dict[str, object]:
        """Take what LangChain knows of a model for what nobody has set; chat classes know no JSON mode."""
        known = known_of(self._package, model)
        if self.chat_class and not known:
            known = {"capabilities": ("function_calling", "streaming")}
        return {name: value for name, value in known.items() if name not in self.model_fields_set}

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
