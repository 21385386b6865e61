"""Look at the workspace itself: what can be done in it, and whether all it needs is there."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from rich.table import Table

from planwright.capabilities.builtin.mail.stored import holds_mail, stored_mails
from planwright.capabilities.builtin.places import data_checks
from planwright.capabilities.policy.decide import host_of, on_egress_list
from planwright.capabilities.registry import Registry, load_registry
from planwright.capabilities.tools.tool_servers import ToolServers, raising, tool_servers
from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.views import rendering as views
from planwright.cli.views.example_calls import example_call
from planwright.cli.views.open_store import time_of
from planwright.domain.errors import PlanwrightError, SetupError
from planwright.models.roles import listed_roles
from planwright.presentation.rows import JsonObject
from planwright.records.consent.allow_rules import AllowRules
from planwright.records.consent.delegations import Delegations
from planwright.records.history.run_outcomes import counts_of_store
from planwright.records.limits import unpriced
from planwright.records.records import open_records
from planwright.security.redaction.known_secrets import redactor_of
from planwright.security.redaction.redactor import SHORTEST
from planwright.settings.model_profiles import install_of
from planwright.settings.providers import ProviderSettings
from planwright.settings.settings import Settings, api_keys, from_environment
from planwright.store.engines.store_server import open_store_server
from planwright.store.store_errors import check_writable
from planwright.store.store_time import trouble_of


def show_capabilities(name: str | None, workspace: Path, as_json: bool) -> int:
    """List the registry, or one capability in full; say which MCP servers are missing."""
    settings = load_trusted(workspace)
    with closing(tool_servers(settings).start_servers(settings)) as servers:
        registry = _registry(settings, servers)
        servers.leave_out(registry.taken)
        views.print_absent(servers.problems)
    if name is not None:
        return _show_one(registry, name)
    rows = [
        {"name": c.name, "mode": c.mode, "risk": c.risk, "effect": c.effect, "description": c.description}
        for c in registry
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
        return 0
    table = Table(
        "name", "mode", "risk", "effect", "what it does", box=None, pad_edge=False, header_style="bold"
    )
    for row in rows:
        table.add_row(*map(views.one_line, row.values()))
    views.console().print(table)
    return 0


def check_workspace(workspace: Path) -> int:
    """Check everything a run would need, and say what to mend."""
    console = views.console()
    problems: set[str] = set()
    for name, check in _checks(workspace):
        try:
            console.print(views.label(name, f"ok   {check()}", "green"))
        except PlanwrightError as error:
            if str(error) in problems:
                continue  # another check has met the same
            problems.add(str(error))
            console.print(views.label(name, f"!!   {error.cause}", "red"))
            console.print(views.label("", f"     {error.next_step}"))
    return 1 if problems else 0


def _checks(workspace: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    yield "python", lambda: f"{sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}"
    yield "settings", lambda: f"{load_trusted(workspace).workspace}"
    try:
        settings = load_trusted(workspace)
    except SetupError:
        return
    yield "store", lambda: _store(settings)
    if settings.store_url:
        yield "standby", lambda: _standbys(settings)
    yield "time", lambda: _time(settings)
    folder = settings.store_folder
    yield "rules", lambda: f"{len(AllowRules(folder).read())} always allow a call"
    yield "delegated", lambda: f"{len(Delegations(folder).read())} delegations"
    yield "registry", lambda: f"{len(_registry(settings))} capabilities{_without_data(settings)}"
    yield from _checks_beside_servers(settings)
    if any(settings.roles.model_dump().values()):
        yield "roles", lambda: "; ".join(listed_roles(settings))
    yield "secrets", lambda: _secrets(settings)
    yield "mail", lambda: _mail(settings)
    for name, channel in settings.channels.items():
        yield "channel", lambda name=name, url=channel.url: _channel(settings, name, url)  # type: ignore[misc]
    for name in settings.providers:
        yield "provider", lambda name=name: _provider(settings, name)  # type: ignore[misc]
        provider = settings.providers[name]
        for served in provider.served:
            yield "", lambda of=provider, model=served.model: _served(of, model)  # type: ignore[misc]
    if not settings.providers:
        yield "provider", lambda: "none; the embedded planner serves"


def _checks_beside_servers(settings: Settings) -> Iterator[tuple[str, Callable[[], str]]]:
    """Check what names capabilities beside the servers that have them, and the servers."""
    try:
        servers = tool_servers(settings).start_servers(settings)
    except SetupError as error:
        yield "mcp", raising(error)
        return
    with closing(servers):
        yield "policy", lambda: _policy(settings, servers)
        yield from servers.checks()
        if settings.agents:
            yield "agents", lambda: _agents(settings, servers)


def _store(settings: Settings) -> str:
    records = open_records(settings.store_folder, busy_timeout_s=2, url=settings.store_url)
    try:
        records.database.call("check", check_writable)
        count = records.database.look(lambda c: sum(counts_of_store(c)["runs"].values()))
    finally:
        records.close()
    place = records.database.engine.label if settings.store_url else settings.store_folder
    return f"{place} ({count} run{'s' * (count != 1)})"


def _standbys(settings: Settings) -> str:
    return open_store_server(settings.store_url, settings.storage.busy_timeout_s).check_standbys()


def _time(settings: Settings) -> str:
    """Tell what time it is for the store; where a clock is not believed, that is what is to be mended."""
    mark = time_of(settings)
    if mark is None:
        return "no store yet"
    if trouble := trouble_of(mark):
        raise SetupError(*trouble)
    return f"{mark.now:%Y-%m-%d %H:%M:%S} UTC"


def _secrets(settings: Settings) -> str:
    """Say whose values are kept out of sight, and warn of those that cannot be."""
    redactor = redactor_of(settings)
    lines = [f"kept out of sight: {', '.join(redactor.names) or 'none is known'}"]
    if redactor.short:
        lines.append(f"too short for it (below {SHORTEST} characters): {', '.join(redactor.short)}")
    if unset := [name for name in settings.secrets.env if not from_environment(name)]:
        lines.append(f"not set: {', '.join(unset)}")
    return "; ".join(lines)


def _mail(settings: Settings) -> str:
    """Count the mail that was read; a workspace need not have any, unless its settings say where."""
    folder = settings.workspace / settings.sources.mail
    if holds_mail(folder):
        reasons = [
            f"{mail.name}: {mail.unreadable}" if mail.unreadable else "" for mail in stored_mails(folder)
        ]
        bad = [reason for reason in reasons if reason]
        also = f"; {len(bad)} cannot be read: {bad[0]}" if bad else ""
        return f"{len(reasons) - len(bad)} messages in {folder}{also}"
    kinds = "no maildir, no .eml and no mbox file"
    if "mail" in settings.sources.model_fields_set:
        raise SetupError(f"there is no mail at {folder}: {kinds}", "mend sources.mail")
    return f"none at {folder}: {kinds} (sources.mail)"


def _channel(settings: Settings, name: str, url: str) -> str:
    if not on_egress_list(host_of(url), settings.egress.allow):
        raise SetupError(
            f"{name} posts to {host_of(url)}, not in egress.allow", f'[egress] allow = ["{host_of(url)}"]'
        )
    return f"{name} → {host_of(url)}"


def _provider(settings: Settings, name: str) -> str:
    provider = settings.providers[name]
    if not api_keys(provider) and provider.needs_key:
        named = provider.api_key_env or provider.usual_key or f"providers.{name}.api_key_env"
        wanted = named if isinstance(named, str) else " or ".join(named)
        raise SetupError(f"provider {name} has no key", f"set {wanted}")
    if (package := provider.absent_package) is not None:
        raise SetupError(f"provider {name} needs the package {package}", install_of(package))
    _check_priced(settings, name)
    models = ", ".join(served.model for served in provider.served)
    return f"{name}: {models} at {provider.asked_by}"


def _served(provider: ProviderSettings, model: str) -> str:
    """Say what is taken for true of a model, and where each of it comes from."""
    served = provider.serving(model)
    known = {
        "context": f"context {served.context:,}",
        "capabilities": ", ".join(served.capabilities) or "no capabilities",
        "thinking": f"thinking {served.thinking or 'unasked'}",
        "thinking_tokens": f"{served.thinking_tokens:,} tokens for it" if served.thinking_tokens else "",
    }
    origins = (f"{text} ({provider.origin_of(name, model)})" for name, text in known.items() if text)
    return f"{model}: {'; '.join(origins)}"


def _check_priced(settings: Settings, name: str) -> None:
    """Raise SetupError where the cost is limited and nobody knows what a provider charges."""
    from planwright.models.providers.pricing import price
    from planwright.state.agent_state import ModelRoute  # it knows messages, which take long to load

    provider = settings.providers[name]
    limits = {
        f"providers.{name}.monthly_cost": provider.monthly_cost,
        "budgets.run.cost": settings.budgets.run.cost,
    }
    limit = next((setting for setting, most in limits.items() if most is not None), None)
    for served in provider.served if limit else ():
        if limit and price(ModelRoute(provider=name, model=served.model), 0, 0, served.prices) is None:
            refused = unpriced(name, limit)
            raise SetupError(refused.cause, refused.next_step)


def _policy(settings: Settings, servers: ToolServers) -> str:
    from planwright.cli.views.policy_views import policy_beside

    policy, _ = policy_beside(servers, settings)
    return f"{policy.path.name}, {len(policy.rules)} rules, version {policy.hash[:12]}"


def _agents(settings: Settings, servers: ToolServers) -> str:
    from planwright.graph.building import check_agents  # it knows models, which take long to load

    check_agents(settings, _registry(settings, servers))
    return ", ".join(settings.agents)


def _without_data(settings: Settings) -> str:
    """Name the capabilities that no model is told of, since the workspace has nothing for them to work on."""
    names = ", ".join(name for name, has_data in data_checks(settings).items() if not has_data())
    return names and f"; models are not told of {names}: [sources], [mail] and [channels] set them up"


def _registry(settings: Settings, servers: ToolServers | None = None) -> Registry:
    chosen = settings.capabilities
    more, absent = (servers.capabilities, servers.absent) if servers else ((), {})
    return load_registry(settings.workspace, chosen.modules, chosen.prohibit, more, absent)


def _show_one(registry: Registry, name: str) -> int:
    capability = registry.require(name)
    fields: JsonObject = {
        "name": capability.name,
        "description": capability.description,
        "mode": capability.mode,
    }
    fields |= {"risk": capability.risk, "effect": capability.effect, "guide": capability.guide.instructions}
    fields |= {"undone_by": capability.compensation.model_dump()} if capability.compensation else {}
    fields |= {"example": example_call(capability.name, capability.args_schema)}
    print(
        json.dumps({**fields, "args": capability.args_schema, "result": capability.result_schema}, indent=2)
    )
    return 0
