"""Which model does which kind of work: the one that is set for its role, else that of the run.

A run whose model was chosen, by the request, its agent or in code, is served by that model alone, and a run
of the embedded planner has no other. So a person who names a provider knows where all of a request goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import get_args

from planwright.domain.errors import SetupError
from planwright.models.providers.matching import route_of
from planwright.settings.providers import ProviderSettings
from planwright.settings.roles import Role
from planwright.settings.settings import FILE_NAME, Settings
from planwright.state.agent_state import ModelRoute

ROLES: tuple[Role, ...] = get_args(Role)
SERVED_BY: Mapping[str, Role] = MappingProxyType(
    {
        "planner": "planner",
        "task_extraction": "planner",
        "planning": "fast",
        "classification": "fast",
        "alternative": "fast",
        "approach": "fast",
        "compaction": "fast",
        "title": "fast",
        "respond": "respond",
        "answer_value": "respond",
        "critic": "critic",
    }
)
"""The role that serves a prompt, by the name of the prompt. A loop picks its model when it opens."""


def role_route(settings: Settings, role: Role, route: ModelRoute) -> ModelRoute | None:
    """Find the model that is set for a role in a run of `route`; None where the run's model serves.

    Raises SetupError for a provider or a model that is not configured.
    """
    named = getattr(settings.roles, role)
    if named is None or route.chosen or route.embedded:
        return None
    return route_of(*served_under(settings, role, named))


def serving(settings: Settings, role: Role, route: ModelRoute) -> ModelRoute:
    """Find the model that serves a role: the one that is set for it, else the run's. Raises SetupError."""
    return role_route(settings, role, route) or route


def can_read(named: ModelRoute, route: ModelRoute, tokens: int) -> bool:
    """Say whether the model of a role can read so much, or no less than the run's own."""
    return tokens <= named.context or route.context <= named.context


def served_under(settings: Settings, role: Role, named: str) -> tuple[str, ProviderSettings]:
    """Look up the provider, and the model of it, that a role names. Raises SetupError for none."""
    where, providers = f"{settings.workspace / FILE_NAME}: `roles.{role}`", settings.providers
    name, _, model = (named, "", "") if named in providers else named.partition("/")
    if name not in providers:
        known = ", ".join(providers) or "none is configured"
        raise SetupError(f"{where}: there is no provider {name!r} ({known})", f"add [providers.{name}]")
    provider = providers[name]
    models = dict.fromkeys((provider.model, *provider.models))
    if (model or provider.model) not in models or named.endswith("/"):
        raise SetupError(
            f"{where}: provider {name} lists no model {model!r} (it lists: {', '.join(models)})",
            f'add [providers.{name}.models."{model}"]' if model else "name one of them",
        )
    return name, provider.serving(model or provider.model)


def check_roles(settings: Settings) -> None:
    """Raise SetupError for a role that names a provider or a model which is not configured."""
    for _ in listed_roles(settings):
        pass


def listed_roles(settings: Settings) -> Iterator[str]:
    """Describe the roles that are set, as `fast: house/qwen3-8b`. Raises SetupError as `role_route` does."""
    for role in ROLES:
        if (named := getattr(settings.roles, role)) is not None:
            name, provider = served_under(settings, role, named)
            yield f"{role}: {name}/{provider.model}"
