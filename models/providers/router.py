"""Which model serves a run: an explicit choice, else the first provider by priority that can."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from weakref import WeakKeyDictionary

from langchain_core.language_models import BaseChatModel

from planwright.domain.errors import SetupError
from planwright.domain.model_hint import ModelHint
from planwright.domain.plugins import plugin
from planwright.models.providers.any_chat import plainly_replying
from planwright.models.providers.matching import Providers, lacks, nobody_offers, ranked, route_of, step_route
from planwright.models.roles import role_route
from planwright.security.redaction.chat_model import redacting
from planwright.security.redaction.redactor import Redactor
from planwright.settings.providers import ProviderSettings
from planwright.settings.roles import Role
from planwright.settings.settings import Settings, api_keys, no_key
from planwright.state.agent_state import ModelRoute

EMBEDDED = ModelRoute(provider="embedded", model="planwright-offline", embedded=True)
HOST_MODEL = "given"


class Router:
    """Pick providers and hold their chat models, one a key and for every event loop.

    A kept connection belongs to the loop that opened it.
    """

    def __init__(
        self, settings: Settings, model: BaseChatModel | None = None, redactor: Redactor | None = None
    ) -> None:
        self._settings = settings
        self._redactor = redactor or Redactor()
        self._models: dict[str, BaseChatModel] = {}
        if model is not None:
            self._models[HOST_MODEL] = redacting(plainly_replying(model), self._redactor)
        self._host_model = model
        self._connected: WeakKeyDictionary[
            asyncio.AbstractEventLoop, dict[tuple[str, str, int], BaseChatModel]
        ] = WeakKeyDictionary()

    def route(
        self, provider: str | None = None, hint: ModelHint | None = None, benched: Collection[str] = ()
    ) -> ModelRoute:
        """Choose the provider for a request: `provider`, `provider/model`, or None for the first that can.

        Providers that are `benched` are passed over. A model of the host's serves in place of any. Without
        any configured provider the embedded planner serves; a configured one is never replaced by it. Raises
        SetupError when the choice is unknown or nobody can what is needed.
        """
        named = self._named(provider) if provider not in (None, EMBEDDED.provider) else None
        if self._host_model is not None:
            name = getattr(self._host_model, "model_name", type(self._host_model).__name__)
            can_call = type(self._host_model).bind_tools is not BaseChatModel.bind_tools
            return ModelRoute(provider=HOST_MODEL, model=name, can_call=can_call, chosen=True)
        if provider == EMBEDDED.provider:
            return EMBEDDED
        providers = self._settings.providers
        if named is not None:
            return named
        if not providers:
            return EMBEDDED
        if able := [route for route in ranked(providers, hint) if route.provider not in benched]:
            return able[0]
        raise nobody_offers(hint)

    def _named(self, provider: str) -> ModelRoute:
        providers = self._settings.providers
        name, _, model = (provider, "", "") if provider in providers else provider.partition("/")
        if name not in providers or provider.endswith("/"):
            known = ", ".join(providers) or "none is configured"
            raise SetupError(f"there is no provider {provider!r} ({known})", f"add [providers.{name}]")
        served = providers[name].serving(model or providers[name].model)
        return route_of(name, served).model_copy(update={"chosen": True})

    @property
    def providers(self) -> Providers:
        """The providers that are configured, by name."""
        return self._settings.providers

    def role(self, role: Role, route: ModelRoute) -> ModelRoute | None:
        """Find the model that is set for a role in a run of `route`; None where the run's serves."""
        return role_route(self._settings, role, route)

    def for_step(self, route: ModelRoute, hint: ModelHint | None) -> ModelRoute:
        """Choose the model of a step within a run: of the role `agent`, unless its hint asks for another.

        Raises SetupError when nobody has what is required.
        """
        return step_route(self._settings.providers, self.role("agent", route) or route, hint)

    def candidates(self, provider: str | None = None) -> dict[str, ProviderSettings]:
        """Name the providers that may serve a request: the one it chooses, or all of them.

        Empty when the embedded planner or a given model serves.
        """
        providers = self._settings.providers
        if self._host_model is not None or provider == EMBEDDED.provider:
            return {}
        if provider is not None:
            name = provider if provider in providers else provider.partition("/")[0]
            return {name: providers[name]} if name in providers else {}
        return dict(providers)

    def successors(self, route: ModelRoute) -> list[ModelRoute]:
        """List a route and those that may serve in its place, by priority.

        Nobody takes the place of the one that a request, or its agent, has chosen; else only who has what
        the route's step requires. Raises SetupError when settings have changed and nobody has it any more.
        """
        if route.chosen or route.embedded or route.provider in self._models:
            return [route]
        provider = self.provider(route)
        still = [route] if provider and not lacks(provider, route.hint) else []
        able = ranked(self._settings.providers, route.hint)
        own = (route.provider, route.model)
        if routes := [
            *still,
            *(other for other in able if not still or (other.provider, other.model) != own),
        ]:
            return routes
        raise nobody_offers(route.hint)

    def check(self, route: ModelRoute) -> None:
        """Check that one of those that may serve a route has its key here. Raises SetupError.

        A provider that the settings name no more is left to the call that would ask it.
        """
        try:
            routes = self.successors(route)
        except SetupError:
            return
        failures = []
        for each in routes:
            provider = self.provider(each)
            if provider is None or not provider.needs_key or api_keys(provider):
                return
            failures.append(no_key(each.provider, provider))
        raise failures[0]

    def provider(self, route: ModelRoute) -> ProviderSettings | None:
        """Look up the settings behind a route's model; None for the embedded and for a given model."""
        settings = self._settings.providers.get(route.provider)
        return settings.serving(route.model) if settings else None

    def count_keys(self, route: ModelRoute) -> int:
        """Count the keys of a route; a model that needs none has one."""
        provider = self.provider(route)
        return max(1, len(api_keys(provider))) if provider else 1

    async def close(self) -> None:
        """Close the connections that were opened on this event loop."""
        for model in self._connected.pop(asyncio.get_running_loop(), {}).values():
            from planwright.models.providers.clients import close_client

            await close_client(model)

    def chat_model(self, route: ModelRoute, key: int = 0) -> BaseChatModel:
        """Return the chat model of a route and key, made on first use. Call it on the loop that will ask."""
        if route.embedded and EMBEDDED.provider not in self._models:
            self._models[EMBEDDED.provider] = plugin("models", EMBEDDED.provider)()
        if route.provider in self._models:
            return self._models[route.provider]
        name = (route.provider, route.model, key)
        connected = self._connected.setdefault(asyncio.get_running_loop(), {})
        if name not in connected:
            from planwright.models.providers.clients import client_of  # it takes seconds to load

            if (served := self.provider(route)) is None:
                raise SetupError(
                    f"there is no provider {route.provider!r} any more", f"add [providers.{route.provider}]"
                )
            connected[name] = redacting(client_of(route.provider, served, key), self._redactor)
        return connected[name]
