"""The client of a provider: chat completions, responses, or any chat model of LangChain."""

from __future__ import annotations

from langchain_core.language_models import BaseChatModel

from planwright.models.bounded_chat import BoundedChat
from planwright.models.providers.any_chat import plainly_replying
from planwright.models.providers.langchain_class import class_model
from planwright.models.providers.openai_compatible import chat_model
from planwright.models.providers.refused_parameters import AdaptedRequests
from planwright.settings.providers import ProviderSettings

_CONNECTIONS = ("http_async_client", "async_client")


def client_of(
    name: str, provider: ProviderSettings, key: int = 0, transport: AdaptedRequests | None = None
) -> BaseChatModel:
    """Make the chat model of a provider and one of its keys, whose replies are words and calls.

    Raises SetupError for a class that cannot be made, and where a key is needed and there is none.
    """
    if provider.chat_class is not None:
        marks = provider.chat_class.startswith("langchain_anthropic")
        return plainly_replying(class_model(name, provider, key), marks=marks)
    model = chat_model(name, provider, key, transport)
    return model if isinstance(model, BoundedChat) else plainly_replying(model)


async def close_client(model: BaseChatModel) -> None:
    """Close the connections of a chat model, as far as it shows them."""
    for name in _CONNECTIONS:
        client: object = model.__dict__.get(name)
        if close := getattr(client, "aclose", None):
            await close()
