"""Checking the agents of a workspace against what there is: capabilities, and providers of models."""

from __future__ import annotations

from planwright.capabilities.registry import Registry
from planwright.domain.errors import SetupError
from planwright.models.providers.router import Router
from planwright.settings.profile import names
from planwright.settings.settings import FILE_NAME, Settings


def check_agents(settings: Settings, registry: Registry) -> None:
    """Raise SetupError for an agent that names a capability or a provider which does not exist.

    Any of an MCP server that is not there counts as one that does.
    """
    router, path = Router(settings), settings.workspace / FILE_NAME
    for agent_id, agent in settings.agents.items():
        for tool in agent.tools or ():
            if not registry.absent_server(tool) and not any(
                names(tool, capability.name) for capability in registry
            ):
                near = ", ".join(registry.near(tool)) or "see them with: planwright capabilities"
                raise SetupError(
                    f"{path}: `agents.{agent_id}.tools`: there is no capability {tool!r}", f"nearest: {near}"
                )
        if agent.model is not None:
            try:
                router.route(agent.model)
            except SetupError as error:
                raise SetupError(
                    f"{path}: `agents.{agent_id}.model`: {error.cause}", error.next_step
                ) from error
