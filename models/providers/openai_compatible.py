"""Any OpenAI-compatible endpoint, through langchain-openai."""

from __future__ import annotations

import httpx
from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from planwright.domain.errors import SetupError
from planwright.models.bounded_chat import BoundedChat
from planwright.models.providers.refused_parameters import AdaptedRequests
from planwright.settings.providers import ProviderSettings
from planwright.settings.settings import api_keys


def chat_model(
    name: str, provider: ProviderSettings, key: int = 0, transport: AdaptedRequests | None = None
) -> BaseChatModel:
    """Make the chat model of a provider and one of its keys. The SDK's own retries are off: one policy, ours.

    Raises SetupError when no key is to be found.
    """
    keys = api_keys(provider)
    if not keys and (provider.base_url is None or provider.api_key_env):
        raise SetupError(
            f"provider {name} has no key",
            f"set {_named(provider.api_key_env)}, or providers.{name}.api_key_env",
        )
    return BoundedChat(
        model=provider.model,
        base_url=provider.base_url,
        api_key=SecretStr(keys[key] if keys else "none"),
        timeout=provider.timeout_s,
        max_retries=0,
        stream_usage=True,
        stream_chunk_timeout=provider.timeout_s,  # of a socket that stays open and says nothing
        disable_streaming="streaming" not in provider.capabilities,
        # A client of its own: langchain-openai shares one between event loops and never closes it.
        http_async_client=httpx.AsyncClient(
            timeout=provider.timeout_s,
            trust_env=False,
            transport=transport or AdaptedRequests(name, proxy=provider.proxy),
        ),
        http_socket_options=(),  # else langchain-openai logs a warning wherever a proxy is set, even NO_PROXY
        use_responses_api=False,
    )


def _named(variables: str | tuple[str, ...] | None) -> str:
    return variables if isinstance(variables, str) else " or ".join(variables or ("OPENAI_API_KEY",))
