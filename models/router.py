"""Which model serves a run: an explicit choice, else the first provider by priority that can."""

from __future__ import annotations

from collections.abc import Collection

from langchain_core.language_models import BaseChatModel

from planwright.graph.errors import SetupError
from planwright.graph.settings import Provider, Settings
from planwright.graph.state import ModelRoute
from planwright.models.offline.model import NAME as OFFLINE
from planwright.models.offline.model import OfflineModel

EMBEDDED = ModelRoute(provider="embedded", model=OFFLINE, embedded=True)
GIVEN = "given"


class Router:
    """Pick providers and hold their chat models, one each."""

    def __init__(self, settings: Settings, model: BaseChatModel | None = None) -> None:
        self._settings = settings
        self._models: dict[str, BaseChatModel] = {"embedded": OfflineModel()}
        if model is not None:
            self._models[GIVEN] = model
        self._given = model

    def route(self, provider: str | None = None, needs: Collection[str] = ()) -> ModelRoute:
        """Choose the provider for a request.

        Without any configured provider the embedded planner serves; a configured one is never
        replaced by it. Raises SetupError when the choice is unknown or nobody can what is needed.
        """
        if self._given is not None:
            return ModelRoute(
                provider=GIVEN, model=getattr(self._given, "model_name", type(self._given).__name__)
            )
        if provider == EMBEDDED.provider:
            return EMBEDDED
        providers = self._settings.providers
        if provider is not None:
            if provider not in providers:
                known = ", ".join(providers) or "none is configured"
                raise SetupError(
                    f"there is no provider {provider!r} ({known})", f"add [providers.{provider}]"
                )
            return ModelRoute(provider=provider, model=providers[provider].model)
        if not providers:
            return EMBEDDED
        ranked = sorted(providers.items(), key=lambda item: (item[1].priority, item[0]))
        for name, candidate in ranked:
            if set(needs) <= set(candidate.capabilities):
                return ModelRoute(provider=name, model=candidate.model)
        raise SetupError(
            f"no provider offers {', '.join(sorted(needs))}",
            "add a provider that does, or list it under providers.<id>.capabilities",
        )

    def provider(self, route: ModelRoute) -> Provider | None:
        """Look up the settings behind a route; None for the embedded and for a given model."""
        return self._settings.providers.get(route.provider)

    async def close(self) -> None:
        """Close the connections of every model made here."""
        for model in self._models.values():
            client = getattr(model, "http_async_client", None)
            if client is not None and model is not self._given:
                await client.aclose()

    def chat_model(self, route: ModelRoute) -> BaseChatModel:
        """Return the chat model of a route, made on first use."""
        if route.provider not in self._models:
            from planwright.models.openai_compatible import (
                chat_model,
            )  # langchain_openai takes seconds to load

            self._models[route.provider] = chat_model(
                route.provider, self._settings.providers[route.provider]
            )
        return self._models[route.provider]
