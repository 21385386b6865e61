"""object OpenAI-compatible endpoint, through langchain-openai, by chat completions or by responses."""

from __future__ import annotations

import httpx
from langchain_core.language_models import BaseChatModel
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from planwright.models.bounded import authorities
from planwright.models.bounded_chat import BoundedChat
from planwright.models.providers.refused_parameters import AdaptedRequests
from planwright.models.providers.thinking import request_fields
from planwright.settings.providers import ProviderSettings
from planwright.settings.settings import api_keys, no_key


def chat_model(
    name: str, provider: ProviderSettings, key: int = 0, transport: AdaptedRequests | None = None
) -> BaseChatModel:
    """Make the chat model of a provider and one of its keys. The SDK's own retries are off: one policy, ours.

    By the API of responses nothing is stored at the provider: what it wants back is encrypted. Raises
    SetupError when no key is to be found.
    """
    keys = api_keys(provider)
    if not keys and provider.needs_key:
        raise no_key(name, provider)
    connection = httpx.AsyncClient(
        timeout=None,  # whoever makes the call says how long it may take
        trust_env=False,
        transport=transport or AdaptedRequests(name, proxy=provider.proxy),
    )
    common: dict[str, object] = {
        "model": provider.model,
        "base_url": provider.base_url,
        "api_key": SecretStr(keys[key] if keys else "none"),
        "timeout": None,
        "max_retries": 0,
        "stream_usage": True,
        "stream_chunk_timeout": None,
        "disable_streaming": "streaming" not in provider.capabilities,
        # A client of its own: langchain-openai shares one between event loops and never closes it.
        "http_async_client": connection,
        "http_client": httpx.Client(verify=authorities()),  # never used; else it loads authorities of its own
        "http_socket_options": (),  # else it logs a warning wherever a proxy is set, even with NO_PROXY
    }
    fields = {**request_fields(provider), **provider.options}
    effort = {"reasoning_effort": fields.pop("reasoning_effort", None)}
    if provider.api == "responses":
        stateless = {"store": False, "include": ["reasoning.encrypted_content"]}
        return ChatOpenAI(**common, **effort, **stateless, extra_body=fields or None, use_responses_api=True)
    return BoundedChat(**common, **effort, extra_body=fields or None, use_responses_api=False)
