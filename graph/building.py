"""Ways to get an agent: from its parts, or from a workspace folder."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from typing_extensions import TypedDict, Unpack

from planwright.approvals.review import Reviewer
from planwright.capabilities.builtin.places import data_checks
from planwright.capabilities.compensation_check import check_compensations
from planwright.capabilities.contract import Capability
from planwright.capabilities.policy.check import check_policy
from planwright.capabilities.policy.file import Policy, load_policy
from planwright.capabilities.registry import Registry, load_registry
from planwright.capabilities.tools.langchain_tool import from_tool
from planwright.capabilities.tools.tool_servers import ToolServers, tool_servers
from planwright.capabilities.trust.guard import refuse_untrusted, trust_folder
from planwright.domain.clock import Timer
from planwright.domain.errors import SetupError
from planwright.execution.versions import workspace_versions
from planwright.graph.agent import Agent
from planwright.graph.available_parts import MODEL, available_parts
from planwright.graph.call_context import open_call_context
from planwright.graph.entry.door import Door
from planwright.graph.entry.fence_key import keep_fences
from planwright.graph.entry.single_call import SingleCalls
from planwright.graph.entry.sync_loop import BackgroundLoop
from planwright.graph.entry.undo import Undoing
from planwright.graph.pipeline import build_pipeline
from planwright.graph.stages import Parts
from planwright.models.calling import Models
from planwright.models.providers.router import Router
from planwright.models.roles import check_roles
from planwright.records.stores import Stores, open_stores
from planwright.security.redaction.known_secrets import redactor_of
from planwright.security.redaction.redactor import Redactor
from planwright.settings.profile import stands_for
from planwright.settings.settings import FILE_NAME, Settings, load
from planwright.state.invocation import Clock, utc_now

_LOG = logging.getLogger("planwright.graph")


class AgentOptions(TypedDict, total=False):
    """Parts of an agent that a program brings; whatever is left out comes from the settings."""

    model: BaseChatModel | None
    """Model that answers in place of all configured providers."""
    capabilities: Iterable[Capability] | None
    """Capabilities beside those of the modules, servers and built-ins."""
    tools: Iterable[BaseTool | Callable[..., object]] | None
    """Tools of LangChain, or functions, each to be called as a capability."""
    stores: Stores | None
    """Store that runs are recorded in, in place of that of the workspace."""
    checkpointer: BaseCheckpointSaver[Any] | None
    """Saver of a host program, in place of that of the store."""
    clock: Clock
    """Tells the time of day, where the store is that of the workspace."""
    timer: Timer | None
    """Tells how time goes by; None for the one that goes with the clock."""
    trusted: bool
    """Whether the program trusts all that the folder brings along, as `planwright trust` does."""


def build_graph(settings: Settings | None = None, **options: Unpack[AgentOptions]) -> Agent:
    """Build an agent from its parts; whatever is left out comes from the settings.

    `options` are those of AgentOptions. Raises SetupError for settings or capabilities that cannot be used,
    FolderUntrusted for a folder that brings what nobody trusts.
    """
    if unknown := options.keys() - AgentOptions.__annotations__.keys():
        raise TypeError(f"build_graph() got an unexpected keyword argument {min(unknown)!r}")
    chosen, timer = settings or load(), options.get("timer")
    if options.get("trusted"):
        trust_folder(chosen, "a program that opened it")
    refuse_untrusted(chosen)
    redactor = redactor_of(chosen)
    keep_fences(chosen.store_folder)
    stores = options.get("stores") or _stores(chosen, redactor, options.get("clock", utc_now), timer)
    with ExitStack() as undo:  # what cannot be built leaves nothing open
        if not options.get("stores"):
            undo.callback(stores.close)
        servers, model = tool_servers(chosen).open_servers(chosen), options.get("model")
        undo.callback(servers.close)
        _check_model(model)
        own = [*(options.get("capabilities") or ()), *map(from_tool, options.get("tools") or ())]
        registry, policy = _checked(chosen, own, servers)
        router = Router(chosen, model, redactor)
        parts = Parts(
            settings=chosen,
            stores=stores,
            registry=registry,
            models=Models(router, stores.budgets, chosen, timer),
            call_context=open_call_context(chosen, stores, registry, policy, redactor),
            versions=workspace_versions(chosen, registry, policy.hash),
        )
        compiled = build_pipeline(parts).compile(checkpointer=options.get("checkpointer"), name="planwright")
        compiled.__class__ = Agent  # compile() makes a CompiledStateGraph, whatever subclass is meant
        agent = cast(Agent, compiled)
        own_names = {capability.name for capability in own} - {c.name for c in servers.capabilities}
        own_names |= {MODEL} if model else set()
        available = available_parts(registry, own_names, parts.versions)
        reviewer = Reviewer(registry, stores, chosen, parts.call_context)
        agent.door = Door(chosen, stores, reviewer, available, redactor, router.check)
        undo.pop_all()
    agent.loop = BackgroundLoop()
    agent.router = router
    agent.servers = servers
    agent.undoing = Undoing(stores, registry)
    agent.single_calls = SingleCalls(stores, registry)
    return agent


def _check_model(model: object) -> None:
    if model is not None and not isinstance(model, BaseChatModel):
        cause = f"`model` is a {type(model).__name__} ({repr(model)[:40]}), not a chat model of LangChain"
        next_step = 'pass one, as init_chat_model("openai:gpt-5"), or set [providers.<id>] in planwright.toml'
        raise SetupError(cause, next_step)


def _checked(settings: Settings, own: Iterable[Capability], servers: ToolServers) -> tuple[Registry, Policy]:
    """Load capabilities and policy, and check that all that names a capability names one that is there."""
    modules = settings.capabilities
    more = [*own, *servers.capabilities]
    registry = load_registry(
        settings.workspace, modules.modules, modules.prohibit, more, servers.absent, data_checks(settings)
    )
    servers.leave_out(registry.taken)
    check_compensations(registry)
    check_agents(settings, registry)
    check_roles(settings)
    policy = load_policy(settings.workspace)
    check_policy(policy, registry)
    return registry, policy


def check_agents(settings: Settings, registry: Registry) -> None:
    """Raise SetupError for an agent that names a capability or a provider which does not exist.

    Any of an MCP server that is not there counts as one that does.
    """
    router, path = Router(settings), settings.workspace / FILE_NAME
    for agent_id, agent in settings.agents.items():
        for tool in agent.tools or ():
            if not registry.absent_server(tool) and not any(
                stands_for(tool, capability.name) for capability in registry
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


def _stores(settings: Settings, redactor: Redactor, clock: Clock, timer: Timer | None) -> Stores:
    patience_s = settings.storage.busy_timeout_s
    return open_stores(
        settings.store_folder,
        busy_timeout_s=patience_s,
        redactor=redactor,
        clock=clock,
        timer=timer,
        url=settings.store_url,
    )


def open_agent(workspace: Path | str = ".", **options: Unpack[AgentOptions]) -> Agent:
    """Open the agent of a workspace folder, which is made where it is not there.

    `options` are those of `build_graph`. Raises SetupError for a folder that cannot be made.
    """
    try:
        Path(workspace).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        cause = f"{workspace} is no folder, and none can be made there: {error.strerror}"
        raise SetupError(cause, "name another folder") from error
    agent = build_graph(load(workspace), **options)
    log_problems(agent)
    return agent


def log_problems(agent: Agent) -> None:
    """Log which MCP servers, or tools of them, are missing, for who has no terminal of ours."""
    for problem in agent.servers.problems:
        _LOG.warning("MCP: %s", agent.door.redactor.text(problem))
