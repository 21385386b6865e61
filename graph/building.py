"""Ways to get an agent: from its parts, or from a workspace folder."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver

from planwright.approvals.review import review
from planwright.capabilities.compensation_check import check_compensations
from planwright.capabilities.contract import Capability
from planwright.capabilities.langchain_tool import from_tool
from planwright.capabilities.mcp.servers import open_servers
from planwright.capabilities.policy.check import check_policy
from planwright.capabilities.policy.file import load_policy
from planwright.capabilities.registry import load_registry
from planwright.checkpoints.stores import Stores, open_stores
from planwright.domain.clock import Timer, timer_of
from planwright.graph.agent import Agent
from planwright.graph.available_parts import MODEL, available_parts
from planwright.graph.call_context import open_call_context
from planwright.graph.door import Door
from planwright.graph.pipeline import Parts, build_pipeline
from planwright.graph.startup_checks import check_agents
from planwright.graph.sync_loop import BackgroundLoop
from planwright.graph.undo import Undoing
from planwright.models.calling import Models
from planwright.models.providers.router import Router
from planwright.models.roles import check_roles
from planwright.security.redaction.known_secrets import redactor_of
from planwright.security.redaction.redactor import Redactor
from planwright.settings.settings import Settings, load
from planwright.state.invocation import Clock, utc_now


def build_graph(
    settings: Settings | None = None,
    *,
    model: BaseChatModel | None = None,
    capabilities: Iterable[Capability] = (),
    tools: Iterable[BaseTool] = (),
    stores: Stores | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    clock: Clock = utc_now,
    timer: Timer | None = None,
) -> Agent:
    """Build an agent from its parts; whatever is left out comes from the settings.

    Raises SetupError for settings or capabilities that cannot be used.
    """
    chosen = settings or load()
    redactor = redactor_of(chosen)
    records = stores or _stores(chosen, redactor, timer or timer_of(clock))
    modules, servers = chosen.capabilities, open_servers(chosen)
    with ExitStack() as undo:
        undo.callback(servers.close)
        more = [*capabilities, *map(from_tool, tools), *servers.capabilities]
        registry = load_registry(chosen.workspace, modules.modules, modules.prohibit, more)
        check_compensations(registry, modules.prohibit)
        check_agents(chosen, registry, servers.absent)
        check_roles(chosen)
        policy = load_policy(chosen.workspace)
        check_policy(policy, registry, modules.prohibit, servers.absent)
        router = Router(chosen, model, redactor)
        undo.pop_all()
    parts = Parts(
        settings=chosen,
        stores=records,
        registry=registry,
        models=Models(router, records.budgets, chosen, timer),
        world=open_call_context(chosen, records, registry, policy, redactor, clock),
    )
    compiled = build_pipeline(parts).compile(checkpointer=checkpointer, name="planwright")
    compiled.__class__ = Agent  # compile() makes a CompiledStateGraph, whatever subclass is meant
    assert isinstance(compiled, Agent)
    mine = frozenset(capability.name for capability in more) - {
        capability.name for capability in servers.capabilities
    }
    here = available_parts(registry, mine | ({MODEL} if model else set()), modules.prohibit)
    judge = review(registry, records, chosen, parts.world)
    compiled.door = Door(chosen, records, judge, clock, redactor, available_parts=here, timer=timer)
    compiled.loop = BackgroundLoop()
    compiled.router = router
    compiled.clock = clock
    compiled.servers = servers
    compiled.undoing = Undoing(records, registry, clock)
    return compiled


def _stores(settings: Settings, redactor: Redactor, timer: Timer) -> Stores:
    patience_s = settings.storage.busy_timeout_s
    return open_stores(settings.store_folder, busy_timeout_s=patience_s, redactor=redactor, timer=timer)


def open_agent(workspace: Path | str = ".", **options: Any) -> Agent:
    """Open the agent of a workspace folder; `options` are those of `build_graph`."""
    return build_graph(load(workspace), **options)
