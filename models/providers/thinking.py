"""How much a model thinks, and how many tokens it gets for that beside those of its answer.

Providers count thoughts as part of a reply: under one limit for both, an answer of three tokens never comes.
"""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

from langchain_core.messages import AIMessage

from planwright.models.model_calls import ModelCall
from planwright.models.providers.common_form import REASONING
from planwright.models.roles import SERVED_BY
from planwright.settings.providers import ProviderSettings
from planwright.state.agent_state import ModelRoute

BUDGETS = {"off": 0, "low": 4_096, "medium": 8_192, "high": 16_384}
"""Tokens that a model may think at each level, where the settings name none."""
UNASKED = 8_192
"""Tokens for a model that thinks as much as it likes."""
_OPENAI_NAMES = ("openai", "azure", "googleapis", "groq", "x.ai", "mistral")


class ThinkingRoom:
    """Give calls room for thoughts, by the settings and by what was seen of each model."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, str]] = set()

    def with_room(self, call: ModelCall, route: ModelRoute, provider: ProviderSettings | None) -> ModelCall:
        """Give a call the tokens that its model thinks, on top of those of its answer."""
        if provider is None:
            return call
        thinks = may_think(provider) or (route.provider, route.model) in self._seen
        most = call.max_tokens + (budget_of(provider) if thinks else 0)
        little = SERVED_BY.get(call.role) == "fast" or call.role == "consolidate"
        effort = "low" if little and may_think(provider) and provider.thinking != "off" else ""
        return replace(call, max_tokens=_capped(most, provider), effort=effort)

    def with_more(
        self, call: ModelCall, route: ModelRoute, provider: ProviderSettings | None, reply: AIMessage
    ) -> ModelCall | None:
        """Give twice the room to a call whose reply was cut off; None for one that was not, or was seen."""
        if provider is None:
            return None
        cut, words = reply.response_metadata.get("finish_reason") == "length", reply.text.strip()
        if thoughts_in(reply) or (cut and not words):  # whatever it did, it did not answer
            self._seen.add((route.provider, route.model))
        if not cut or (call.aloud and words):
            return None
        wanted = 2 * call.max_tokens
        if (route.provider, route.model) in self._seen and provider.thinking != "off":
            wanted = max(wanted, call.max_tokens + budget_of(provider))
        most = _capped(min(wanted, _left(provider, reply)), provider)
        return replace(call, max_tokens=most) if most > call.max_tokens else None


def thoughts_in(reply: AIMessage) -> int:
    """Count the tokens of a reply that were thought, as its provider says, or by what it shows of them."""
    usage = reply.usage_metadata
    counted = usage.get("output_token_details", {}).get("reasoning", 0) if usage else 0
    text = reply.additional_kwargs.get(REASONING)
    return counted or (len(text) // 4 if isinstance(text, str) else 0)


def may_think(provider: ProviderSettings) -> bool:
    """Say whether a model is known to think before it answers, as it is set up."""
    if provider.thinking == "off":
        return False
    set_up = provider.thinking is not None or provider.thinking_tokens is not None
    return set_up or "reasoning" in provider.capabilities


def budget_of(provider: ProviderSettings) -> int:
    """Count the tokens that a model may think."""
    return provider.thinking_tokens or (BUDGETS[provider.thinking] if provider.thinking else UNASKED)


def request_fields(provider: ProviderSettings) -> dict[str, object]:
    """Spell how much a model is to think in a request for chat completions, as its server has it."""
    level, tokens = provider.thinking, provider.thinking_tokens
    if level is None and tokens is None:
        return {}
    host = urlsplit(provider.base_url or "https://api.openai.com").hostname or ""
    if "openrouter" in host:
        by_level = {"enabled": False} if level == "off" else {"effort": level or "medium"}
        return {"reasoning": {"max_tokens": tokens} if tokens and level != "off" else by_level}
    effort: dict[str, object] = {"reasoning_effort": "none" if level == "off" else level} if level else {}
    if "deepseek" in host:
        rest = {} if level == "off" else effort
        return {**rest, "thinking": {"type": "disabled" if level == "off" else "enabled"}}
    if level == "off" and not any(name in host for name in _OPENAI_NAMES):  # vLLM, SGLang, llama.cpp
        return {**effort, "chat_template_kwargs": {"enable_thinking": False}}
    return effort


def _capped(wanted: int, provider: ProviderSettings) -> int:
    """Keep within what the model can return at once."""
    return min(wanted, provider.max_output or wanted)


def _left(provider: ProviderSettings, reply: AIMessage) -> int:
    """Count the tokens that a prompt leaves of the context, by what its provider counted."""
    usage = reply.usage_metadata
    return provider.context - (usage["input_tokens"] if usage else 0)
