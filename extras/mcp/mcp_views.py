"""Look at the MCP servers of a workspace, and trust them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from rich.table import Table

from planwright.capabilities.trust.guard import load_trusted
from planwright.capabilities.trust.mcp_entries import FILE_NAME
from planwright.cli.views import rendering as views
from planwright.domain.errors import SetupError
from planwright.extras.mcp.servers import start_servers
from planwright.extras.mcp.standing import Standing, read_standings
from planwright.extras.mcp.trust import Trust
from planwright.presentation.nearest import nearest
from planwright.presentation.rows import JsonObject


def show_servers(name: str | None, workspace: Path, as_json: bool) -> int:
    """List the servers, or the tools of one. Returns the exit code: 1 for a server that has failed.

    Raises SetupError for a name that is not in the file, and for a file that cannot be read.
    """
    with closing(start_servers(load_trusted(workspace))) as servers:
        if servers.unreadable:
            raise servers.unreadable
        standings = _named(servers.standings, name)
    if as_json:
        print(json.dumps([_row(standing) for standing in standings], ensure_ascii=False, indent=2))
    elif name is None:
        _show_all(standings, workspace)
    else:
        _show_tools(standings[0])
    return 1 if name is not None and standings[0].state == "failed" else 0


def give_trust(name: str | None, workspace: Path, yes: bool) -> int:
    """Show what is started, and ask; then show what tools there are, and ask where they were others before.

    What was typed but `y` trusts nothing.
    """
    settings = load_trusted(workspace)
    trust, standings = Trust(settings.workspace), _named(read_standings(settings), name)
    waiting = [standing for standing in standings if standing.state == "untrusted"]
    if not waiting and name is not None and standings[0].state == "failed":
        raise SetupError(f"{name} cannot be started: {standings[0].cause}", standings[0].next_step)
    new = {standing.name for standing in waiting if _started_from_now_on(standing, trust, yes)}
    names = new.union(standing.name for standing in standings if standing.state == "trusted")
    with closing(start_servers(settings, names)) as servers:
        started = [standing for standing in servers.standings if standing.name in names]
        changed = [standing for standing in started if standing.changes or standing.name in new]
        for standing in changed:
            _keep_tools(standing, trust, ask=not yes and standing.name not in new)
    if not waiting and not changed:
        print("there is nothing to trust" if name is None else f"{name} is trusted already, or switched off")
    return 0


def _started_from_now_on(standing: Standing, trust: Trust, yes: bool) -> bool:
    """Show what a server starts, and trust that where a person agrees; its tools are not looked at yet."""
    server, screen = standing.server, views.console()
    screen.print(views.label("server", f"{server.name}: {standing.cause}"))
    screen.print(views.label("starts" if server.entry.url is None else "connects", server.starts()))
    for setting, value in server.extras().items():
        screen.print(views.label("", f"{setting} {value}"))
    for path, digest in standing.files.items():
        screen.print(views.label("", f"file {path} {digest[:12]}"))
    if yes or _agreed(server.name):
        trust.give(server, standing.files, _person())
        return True
    screen.print(views.label("not trusted", "it is not started", "yellow"))
    return False


def _keep_tools(standing: Standing, trust: Trust, *, ask: bool) -> None:
    """Show the tools of a server, and how they differ, and trust them as they are."""
    screen = views.console()
    if standing.state == "failed":
        screen.print(views.label("failed", f"{standing.cause}; {standing.next_step}", "yellow"))
        return
    if ask:
        screen.print(views.label("server", f"{standing.name}: its tools have changed since it was trusted"))
    for change in standing.changes:
        screen.print(views.label("tool", f"{change.name}: {change.difference}"))
        for line in change.diff():
            screen.print(views.label("", line, {"+": "green", "-": "red"}.get(line[0], "")))
    if ask and not _agreed(standing.name):
        screen.print(views.label("not trusted", "its changed tools stay left out", "yellow"))
        return
    trust.give(standing.server, standing.files, _person(), standing.tools_now)
    until = "until its entry changes, a file its command names, or its tools"
    screen.print(views.label("trusted", f"{until}; it stands in {trust.path}", "green"))


def _person() -> str:
    from planwright.cli.session.asking import who  # here: it brings langgraph along, which few commands need

    return who()


def take_trust_back(name: str, workspace: Path) -> int:
    """Let a server start no more; its name need not be listed any longer. Raises SetupError."""
    trust = Trust(load_trusted(workspace).workspace)
    if not trust.take_back(name):
        raise SetupError(f"nobody trusts a server {name!r}", "see how they stand: planwright mcp ls")
    print(f"{name} is not trusted any more: it is not started again")
    return 0


def _named(standings: Sequence[Standing], name: str | None) -> list[Standing]:
    matches = [standing for standing in standings if name in (None, standing.name)]
    if name is not None and not matches:
        near = nearest(name, [s.name for s in standings], limit=5, least=45)
        raise SetupError(f"{FILE_NAME} lists no server {name!r}", f"nearest: {', '.join(near) or 'none'}")
    return matches


def _agreed(name: str) -> bool:
    if not sys.stdin.isatty():
        raise SetupError("there is no terminal to ask at", f"planwright mcp trust {name} --yes")
    sys.stdout.write("           trust it? [y/N] ")
    sys.stdout.flush()
    return input().strip().lower() in ("y", "yes")


def _row(standing: Standing) -> JsonObject:
    return {
        "name": standing.name,
        "state": standing.state,
        "starts": standing.server.starts(),
        "cause": standing.cause,
        "next_step": standing.next_step,
        "tools": [
            {"capability": capability.name, "tool": tool, "mode": capability.mode, "risk": capability.risk}
            | {"effect": capability.effect, "mode_from": _source(standing, tool)}
            for tool, capability in standing.tools.items()
        ],
        "left_out": dict(standing.left_out),
        "changed": {change.name: change.difference for change in standing.changes},
    }


def _source(standing: Standing, tool: str) -> str:
    """Say who says what mode a tool has."""
    tool_settings = standing.settings.tools.get(tool)
    if tool_settings is not None and tool_settings.mode:
        return f"mcp.{standing.name}.tools.{tool}.mode"
    if standing.settings.mode:
        return f"mcp.{standing.name}.mode"
    return "its hints" if standing.tools[tool].declared else "nobody: assumed"


def _show_all(standings: Sequence[Standing], workspace: Path) -> None:
    if not standings:
        print(f"no MCP servers: there is no {FILE_NAME} in {workspace.resolve()}")
        return
    table = Table("server", "state", "tools", "starts", box=None, pad_edge=False, header_style="bold")
    for standing in standings:
        cells = (standing.name, standing.state, str(len(standing.tools)), standing.server.starts())
        table.add_row(*map(views.one_line, cells))
    views.console().print(table)
    for standing in standings:
        if standing.absent:
            views.console().print(views.label("next", f"{standing.problem}; {standing.next_step}", "yellow"))
        elif standing.changed:
            line = f"{standing.name}: {standing.changed}; {standing.how_to_look}"
            views.console().print(views.label("next", line, "yellow"))


def _show_tools(standing: Standing) -> None:
    if standing.absent:
        views.console().print(
            views.label(standing.state, f"{standing.cause}; {standing.next_step}", "yellow")
        )
        return
    table = Table("capability", "tool", "mode", "says", "risk", "effect", box=None, pad_edge=False)
    for tool, capability in standing.tools.items():
        cells = (
            capability.name,
            tool,
            capability.mode,
            _source(standing, tool),
            capability.risk,
            capability.effect,
        )
        table.add_row(*map(views.one_line, cells))
    views.console().print(table)
    if standing.changed:
        line = f"{standing.changed}; {standing.how_to_look}"
        views.console().print(views.label("next", line, "yellow"))
    for tool, why in standing.left_out.items():
        views.console().print(views.label("left out", f"{tool}: {why}", "yellow"))
