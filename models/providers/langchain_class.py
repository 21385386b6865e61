"""Any chat model of LangChain, by the import path of its class."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import Any

from langchain_core.language_models import BaseChatModel
from pydantic import ValidationError

from planwright.domain.errors import SetupError
from planwright.models.providers.thinking import budget_of
from planwright.settings.model_profiles import install_of
from planwright.settings.providers import ProviderSettings
from planwright.settings.settings import api_keys, no_key


def class_model(name: str, provider: ProviderSettings, key: int = 0) -> BaseChatModel:
    """Make the chat model of a provider that names a class. Retries of its own are off: one policy, ours.

    Raises SetupError for a class that is none, is not installed, takes other arguments, or needs a key.
    """
    chat_class, keys = _class(name, provider), api_keys(provider)
    if not keys and provider.needs_key:
        raise no_key(name, provider)
    offered: dict[str, object] = {
        "model": provider.model,
        "api_key": keys[key] if keys else None,
        "base_url": provider.base_url,
        "timeout": provider.reply_timeout_s,
        "max_retries": 0,
        "disable_streaming": "streaming" not in provider.capabilities or None,
        **thinking_arguments(chat_class, provider),
    }
    takes = {each for field, info in chat_class.model_fields.items() for each in (field, info.alias)}
    wanted = {name: value for name, value in offered.items() if name in takes and value is not None}
    try:
        model = chat_class(**wanted, **provider.options)
    except (ValidationError, ValueError, TypeError) as error:
        says = " ".join(str(error).split())[:300]
        raise SetupError(
            f"provider {name}: {chat_class.__name__} cannot be made: {says}",
            f"mend [providers.{name}], or its options",
        ) from error
    _own_connection(model, name, provider)
    return model


def thinking_arguments(chat_class: type[BaseChatModel], provider: ProviderSettings) -> dict[str, object]:
    """Spell how much a model is to think by the arguments of its class."""
    fields, level, tokens = chat_class.model_fields, provider.thinking, provider.thinking_tokens
    if level is None and tokens is None:
        return {}
    if level == "off":
        off = {"thinking": {"type": "disabled"}, "thinking_budget": 0, "reasoning": False}
        return {name: value for name, value in off.items() if name in fields}
    if tokens is not None and "thinking" in fields:
        return {"thinking": {"type": "enabled", "budget_tokens": budget_of(provider)}}
    if tokens is not None and "thinking_budget" in fields:
        return {"thinking_budget": tokens}
    by_level = {"reasoning_effort": level, "reasoning": True}
    return {name: value for name, value in by_level.items() if name in fields and value is not None}


def _class(name: str, provider: ProviderSettings) -> type[BaseChatModel]:
    """Import the class that a provider names. Raises SetupError."""
    module, _, class_name = str(provider.chat_class).partition(":")
    where = f"providers.{name}.class"
    try:
        chat_class = getattr(import_module(module), class_name, None)
    except ImportError as error:
        install = install_of(module.partition(".")[0])
        raise SetupError(f"{where}: {module} cannot be imported: {error}", install) from error
    if not (isinstance(chat_class, type) and issubclass(chat_class, BaseChatModel)):
        raise SetupError(
            f"{where}: {class_name} of {module} is no chat model of LangChain",
            'name one, as in class = "langchain_anthropic:ChatAnthropic"',
        )
    return chat_class


def _own_connection(model: BaseChatModel, name: str, provider: ProviderSettings) -> None:
    """Let a client of Stainless, such as Anthropic's, send over a connection of its own, and read no proxies.

    langchain-anthropic shares one between event loops and never closes it.
    """
    if isinstance(getattr(type(model), "_async_client", None), cached_property):
        client: Any = getattr(model, "_async_client")  # noqa: B009 - not of every chat model
        kinds = type(getattr(client, "_client", None)).__mro__
        connection = next(
            (kind for kind in kinds if kind.__name__ == "AsyncClient"), None
        )  # of httpx, or httpx2
        if connection is not None:
            http = connection(timeout=provider.reply_timeout_s, trust_env=False, proxy=provider.proxy)
            own = {"_async_client": client.with_options(http_client=http), "http_async_client": http}
            model.__dict__.update(own)
