"""Which model serves a run: an explicit choice, else the first provider by priority that can."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from weakref import WeakKeyDictionary

from langchain_core.language_models import BaseChatModel

from planwright.graph.errors import SetupError
from planwright.graph.provider_settings import Provider
from planwright.graph.redaction import Redactor
from planwright.graph.settings import Settings, api_keys
from planwright.graph.state import ModelRoute
from planwright.models.offline.model import NAME as OFFLINE
from planwright.models.offline.model import OfflineModel
from planwright.models.redacting import redacting

EMBEDDED = ModelRoute(provider="embedded", model=OFFLINE, embedded=True)
GIVEN = "given"


class Router:
    """Pick providers and hold their chat models, one a key and for every event loop.

    A kept connection belongs to the loop that opened it.
    """

    def __init__(
        self, settings: Settings, model: BaseChatModel | None = None, redactor: Redactor | None = None
    ) -> None:
        self._settings = settings
        self._redactor = redactor or Redactor()
        self._models: dict[str, BaseChatModel] = {"embedded": OfflineModel()}
        if model is not None:
            self._models[GIVEN] = redacting(model, self._redactor)
        self._given = model
        self._connected: WeakKeyDictionary[
            asyncio.AbstractEventLoop, dict[tuple[str, str, int], BaseChatModel]
        ] = WeakKeyDictionary()

    def route(
        self, provider: str | None = None, needs: Collection[str] = (), benched: Collection[str] = ()
    ) -> ModelRoute:
        """Choose the provider for a request: `provider`, `provider/model`, or None for the first that can.

        Providers that are `benched` are passed over. Without any configured provider the embedded planner
        serves; a configured one is never replaced by it. Raises SetupError when the choice is unknown or
        nobody can what is needed.
        """
        if self._given is not None:
            name = getattr(self._given, "model_name", type(self._given).__name__)
            can_call = type(self._given).bind_tools is not BaseChatModel.bind_tools
            return ModelRoute(provider=GIVEN, model=name, can_call=can_call)
        if provider == EMBEDDED.provider:
            return EMBEDDED
        providers = self._settings.providers
        if provider is not None:
            name, _, model = (provider, "", "") if provider in providers else provider.partition("/")
            if name not in providers or provider.endswith("/"):
                known = ", ".join(providers) or "none is configured"
                raise SetupError(f"there is no provider {provider!r} ({known})", f"add [providers.{name}]")
            route = route_of(name, providers[name]).model_copy(update={"chosen": True})
            return route.model_copy(update={"model": model}) if model else route
        if not providers:
            return EMBEDDED
        if able := [route for route in self._able(needs) if route.provider not in benched]:
            return able[0]
        raise SetupError(
            f"no provider offers {', '.join(sorted(needs))}",
            "add a provider that does, or list it under providers.<id>.capabilities",
        )

    def candidates(self, provider: str | None = None) -> dict[str, Provider]:
        """Name the providers that may serve a request: the one it chooses, or all of them.

        Empty when the embedded planner or a given model serves.
        """
        providers = self._settings.providers
        if self._given is not None or provider == EMBEDDED.provider:
            return {}
        if provider is not None:
            name = provider if provider in providers else provider.partition("/")[0]
            return {name: providers[name]} if name in providers else {}
        return dict(providers)

    def successors(self, route: ModelRoute) -> list[ModelRoute]:
        """List a route and the providers that may serve in its place, by priority.

        Nobody takes the place of the one that a request, or its agent, has chosen.
        """
        if route.chosen or self.provider(route) is None:
            return [route]
        others = self._able(())
        return [route, *(other for other in others if other.provider != route.provider)]

    def _able(self, needs: Collection[str]) -> list[ModelRoute]:
        """List the providers that offer what is needed, by priority."""
        ranked = sorted(self._settings.providers.items(), key=lambda item: (item[1].priority, item[0]))
        return [route_of(name, found) for name, found in ranked if set(needs) <= set(found.capabilities)]

    def provider(self, route: ModelRoute) -> Provider | None:
        """Look up the settings behind a route; None for the embedded and for a given model."""
        return self._settings.providers.get(route.provider)

    def count_keys(self, route: ModelRoute) -> int:
        """Count the keys of a route; a model that needs none has one."""
        provider = self.provider(route)
        return max(1, len(api_keys(provider))) if provider else 1

    async def close(self) -> None:
        """Close the connections that were opened on this event loop."""
        for model in self._connected.pop(asyncio.get_running_loop(), {}).values():
            client = getattr(model, "http_async_client", None)
            if client is not None:
                await client.aclose()

    def chat_model(self, route: ModelRoute, key: int = 0) -> BaseChatModel:
        """Return the chat model of a route and key, made on first use. Call it on the loop that will ask."""
        if route.provider in self._models:
            return self._models[route.provider]
        name = (route.provider, route.model, key)
        connected = self._connected.setdefault(asyncio.get_running_loop(), {})
        if name not in connected:
            from planwright.models.openai_compatible import chat_model  # it takes seconds to load

            provider = self._settings.providers[route.provider]
            served = provider.model_copy(update={"model": route.model})
            connected[name] = redacting(chat_model(route.provider, served, key), self._redactor)
        return connected[name]


def route_of(name: str, provider: Provider) -> ModelRoute:
    """Describe the model of a provider as runs know it."""
    return ModelRoute(
        provider=name,
        model=provider.model,
        can_call="function_calling" in provider.capabilities,
        context=provider.context,
    )
