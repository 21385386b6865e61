"""Which of the configured models serve a step that needs something of them."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from planwright.domain.errors import SetupError
from planwright.domain.model_hint import HINTED, ModelHint
from planwright.settings.provider_budget import PriceSettings
from planwright.settings.providers import ProviderSettings
from planwright.state.agent_state import ModelRoute

Providers = Mapping[str, ProviderSettings]
NOTHING = ModelHint()


def ranked(providers: Providers, hint: ModelHint | None = None) -> list[ModelRoute]:
    """List who can serve under a hint, the first choice first, each provider with the best of its models.

    Whoever lacks what is required is not among them. Most of what is preferred comes first, then the
    lower priority number, then the name.
    """
    scored = []
    for name, provider in sorted(providers.items(), key=lambda item: (item[1].priority, item[0])):
        able = [served for served in provider.served if not lacks(served, hint)]
        if able:
            best = min(able, key=lambda served: len(misses(served, hint)))
            scored.append((len(misses(best, hint)), route_of(name, best, hint)))
    return [route for _, route in sorted(scored, key=lambda item: item[0])]


def step_route(providers: Providers, route: ModelRoute, hint: ModelHint | None) -> ModelRoute:
    """Choose the model of a step: `route`, unless it was not chosen and lacks something of the step's hint.

    Raises SetupError when no configured model has what is required.
    """
    if hint is None or not open_to_hints(route):
        return route
    if route.provider in providers and not unmet_by(providers, route, hint):
        return route_of(route.provider, providers[route.provider].serving(route.model), hint)
    if able := ranked(providers, hint):
        return able[0]
    raise nobody_offers(hint)


def open_to_hints(route: ModelRoute) -> bool:
    """Say whether hints count: a model that was chosen, or is embedded, serves every step of its run."""
    return not (route.chosen or route.embedded)


def on_offer(providers: Providers, route: ModelRoute) -> list[dict[str, JsonValue]]:
    """Describe what a planner may ask for: each kind of model there is; none where hints do not count."""
    if not open_to_hints(route):
        return []
    kinds = {
        (
            tuple(hint for hint in HINTED if hint in served.capabilities),
            served.context,
        ): None
        for provider in providers.values()
        for served in provider.served
    }
    return [{"can": list(can), "context": context} for can, context in kinds]


def unmet_by(providers: Providers, route: ModelRoute, hint: ModelHint) -> tuple[str, ...]:
    """List in words what a hint names and the model of a route does not have, as far as is known."""
    if (provider := providers.get(route.provider)) is None:
        return ()
    served = provider.serving(route.model)
    return lacks(served, hint) + misses(served, hint)


def prices_of(providers: Providers, route: ModelRoute) -> PriceSettings | None:
    """Look up what is stated of the prices of a route's model."""
    provider = providers.get(route.provider)
    return provider.serving(route.model).prices if provider else None


def lacks(served: ProviderSettings, hint: ModelHint | None) -> tuple[str, ...]:
    """List what is required and a provider's model does not have."""
    return (hint or NOTHING).unmet("required", served.capabilities, served.context)


def misses(served: ProviderSettings, hint: ModelHint | None) -> tuple[str, ...]:
    """List what is preferred and a provider's model does not have."""
    return (hint or NOTHING).unmet("preferred", served.capabilities, served.context)


def nobody_offers(hint: ModelHint | None) -> SetupError:
    """Say that no model has what is required."""
    required = (hint or NOTHING).unmet("required", (), 0)
    if not required:
        return SetupError("no provider is left to ask", "add one: [providers.<id>] in planwright.toml")
    return SetupError(
        f"no configured model offers {' and '.join(required)}",
        "add one that does under providers.<id>.models, or list what it can do in its capabilities",
    )


def route_of(name: str, served: ProviderSettings, hint: ModelHint | None = None) -> ModelRoute:
    """Describe a provider's model as runs know it."""
    return ModelRoute(
        provider=name,
        model=served.model,
        can_call="function_calling" in served.capabilities,
        context=served.context,
        hint=hint,
    )
