"""Any OpenAI-compatible endpoint, through langchain-openai."""

from __future__ import annotations

import httpx
from langchain_core.language_models import BaseChatModel
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from planwright.graph.errors import SetupError
from planwright.graph.settings import Provider, api_key


def chat_model(name: str, provider: Provider) -> BaseChatModel:
    """Make the chat model of a provider. The SDK's own retries are off: one policy, ours.

    Raises SetupError when no key is to be found.
    """
    key = api_key(provider)
    if not key and provider.base_url is None:
        raise SetupError(
            f"provider {name} has no key",
            f"set {provider.api_key_env or 'OPENAI_API_KEY'}, or providers.{name}.api_key_env",
        )
    return ChatOpenAI(
        model=provider.model,
        base_url=provider.base_url,
        api_key=SecretStr(key or "none"),
        timeout=provider.timeout_s,
        max_retries=0,
        stream_usage=True,
        disable_streaming="streaming" not in provider.capabilities,
        # A client of its own: langchain-openai shares one between event loops and never closes it.
        http_async_client=httpx.AsyncClient(timeout=provider.timeout_s, trust_env=False),
        use_responses_api=False,
    )
