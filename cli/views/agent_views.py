"""Look at the agents of a workspace: what each may use and spend, and which setting says so."""

from __future__ import annotations

import json
from pathlib import Path

from rich.table import Table

from planwright.capabilities.registry import Registry, load_registry
from planwright.capabilities.tools.tool_servers import tool_servers
from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.views import rendering as views
from planwright.domain.plan import CLOSING, WHOLE
from planwright.domain.run_context import RunContext
from planwright.graph.building import check_agents
from planwright.models.providers.router import Router
from planwright.presentation.rows import Report
from planwright.settings.agents import RunBudgetSettings
from planwright.settings.profile import WORKSPACE, find_agent, in_force
from planwright.settings.settings import Settings


def show_agents(workspace: Path, as_json: bool) -> int:
    """List the agents of a workspace by name."""
    settings, registry = open_checked(load_trusted(workspace))
    rows = [effective(settings, registry, name) for name in sorted(settings.agents)]
    if as_json:
        print(json.dumps(rows, ensure_ascii=False, indent=2))
        return 0
    if not rows:
        print("no agents yet; add one to planwright.toml: [agents.reader]")
        return 0
    table = Table("agent", "planning", "model", "tools", "what it is for", box=None, pad_edge=False)
    for row in rows:
        cells = (row["agent"], row["planning"], row["model"], str(len(row["tools"])), row["description"])
        table.add_row(*map(views.one_line, cells))
    views.console().print(table)
    return 0


def show_agent(agent: str, workspace: Path, as_json: bool) -> int:
    """Show one agent's settings in force. Raises SetupError for an agent that there is not."""
    settings = load_trusted(workspace)
    find_agent(settings, agent)
    row = effective(*open_checked(settings), agent)
    if as_json:
        print(json.dumps(row, ensure_ascii=False, indent=2))
        return 0
    sources, limits = row["from"], row["limits"]
    facts = {
        "agent": ": ".join(filter(None, (agent, row["description"]))),
        "planning": f"{row['planning']} ({sources['planning']})",
        "model": f"{row['model']} ({sources['model']})",
        "turns": f"at most {row['max_tool_iterations']} ({sources['max_tool_iterations']})",
        "tools": f"{', '.join(row['tools']) or 'none'} ({sources['tools']})",
        "modes": f"{'all' if row['modes'] is None else ', '.join(row['modes'])} ({sources['modes']})",
        "limits": "; ".join(f"{name} {_limit(limits[name])} ({sources[name]})" for name in limits),
        "told": row["instructions"] or "nothing of its own",
        "answers": f"in words{', and as ' + json.dumps(form) if (form := row['answer_schema']) else ''}",
    }
    for name, text in facts.items():
        views.console().print(views.label(name, text))
    return 0


def _limit(value: object) -> str:
    return "unlimited" if value is None else str(value)


def open_checked(settings: Settings) -> tuple[Settings, Registry]:
    """Load what there is and check the agents against it. Raises SetupError for one that names more."""
    modules = settings.capabilities
    absent = tool_servers(settings).unstarted_servers(settings)
    registry = load_registry(settings.workspace, modules.modules, modules.prohibit, absent=absent)
    check_agents(settings, registry)
    return settings, registry


def effective(settings: Settings, registry: Registry, agent: str) -> Report:
    """Gather what is in force for an agent; `from` names the setting behind each value."""
    profile = in_force(settings, RunContext(agent=agent))
    route = Router(settings).route(profile.model)
    limits = profile.limits.model_dump(mode="json", include=set(RunBudgetSettings.model_fields))
    return {
        "agent": agent,
        "description": settings.agents[agent].description,
        "planning": profile.planning,
        "model": f"{route.provider}/{route.model}",
        "max_tool_iterations": profile.max_tool_iterations,
        "tools": [
            capability.name
            for capability in registry.within(profile)
            if capability.name not in (*CLOSING, WHOLE)
        ],
        "modes": profile.modes,
        "limits": limits,
        "instructions": profile.instructions,
        "answer_schema": profile.answer_schema,
        "from": {name: profile.setting(name) for name in WORKSPACE}
        | {name: profile.limits.setting(name) for name in limits},
    }
