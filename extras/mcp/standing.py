"""How the MCP servers of a workspace stand before any is started: switched off, trusted, or not yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from planwright.capabilities.contract import Capability
from planwright.capabilities.trust.command_files import hashes
from planwright.capabilities.trust.mcp_entries import (
    FILE_NAME,
    ConfiguredServer,
    ServerEntry,
    UnreadableFile,
    read_entries,
)
from planwright.domain.errors import SetupError
from planwright.extras.mcp.names import SERVER, plain_names
from planwright.extras.mcp.tool_changes import ToolChange, change_summary
from planwright.extras.mcp.tools import Tool
from planwright.extras.mcp.trust import Trust
from planwright.presentation.nearest import nearest
from planwright.settings.mcp import McpServerSettings
from planwright.settings.settings import FILE_NAME as SETTINGS
from planwright.settings.settings import Settings, child_environment

State = Literal["off", "untrusted", "trusted", "ready", "failed"]


@dataclass(frozen=True)
class Standing:
    """A server of the file: its entry filled in, its settings, and how it stands."""

    server: ConfiguredServer
    """The server as the file states it."""
    entry: ServerEntry
    """Its entry with variables filled in."""
    settings: McpServerSettings
    """What the settings say of it."""
    prefix: str
    """What the names of its capabilities begin with."""
    state: State
    """How it stands: switched off, not trusted, trusted, ready or failed."""
    cause: str = ""
    """Why it stands so; "" where that is plain."""
    next_step: str = ""
    """What a person can do about it; "" for nothing."""
    tools: Mapping[str, Capability] = field(default_factory=dict)
    """Its capabilities, by the names that the server calls them."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Why tools are no capabilities, by the names that the server calls them."""
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the files that its command names, by path."""
    trusted: Mapping[str, Tool] = field(default_factory=dict)
    """Its tools as a person has looked at them, by their names."""
    tools_now: Sequence[Tool] = ()
    """Its tools as it lists them; empty before it has."""
    changes: Sequence[ToolChange] = ()
    """How those that are used differ."""

    @property
    def name(self) -> str:
        """The server's name in the file."""
        return self.server.name

    @property
    def absent(self) -> bool:
        """Whether its tools are missing though it is switched on."""
        return self.state in ("untrusted", "failed")

    @property
    def changed(self) -> str:
        """Which of its tools are left out or gone since it was trusted; "" where none is."""
        return change_summary(self.changes)

    @property
    def how_to_look(self) -> str:
        """What shows how its tools have changed, and asks whether they are trusted."""
        return f"look at what changed, and trust it: planwright mcp trust {self.name}"

    @property
    def problem(self) -> str:
        """Why its tools are missing, with its name."""
        return self.cause if self.state == "failed" else f"{self.name} is not there: {self.cause}"


def read_standings(settings: Settings) -> list[Standing]:
    """Read the servers of a workspace and who of them may start. Nothing is started.

    One whose entry cannot be used has failed. Raises UnreadableFile for a file that cannot be read at all,
    and SetupError for a setting that cannot be meant.
    """
    servers = read_entries(settings.workspace)
    _check_names(settings, servers)
    prefixes = plain_names((server.name for server in servers), SERVER)
    trust, environment = Trust(settings.workspace), child_environment({})
    standings = []
    for server in servers:
        chosen = settings.mcp.get(server.name, McpServerSettings())
        if server.entry.disabled or not chosen.enabled:
            standings.append(
                Standing(server, server.entry, chosen, prefixes[server.name], "off", "it is switched off")
            )
            continue
        try:
            entry = server.filled_in(environment)
        except SetupError as error:
            failed = Standing(server, server.entry, chosen, prefixes[server.name], "failed")
            standings.append(replace(failed, cause=error.cause, next_step=error.next_step))
            continue
        files = hashes(server, entry, environment)
        if trust.covers(server, files):
            ready = Standing(server, entry, chosen, prefixes[server.name], "trusted", files=files)
            standings.append(replace(ready, trusted=trust.tools_of(server)))
            continue
        changed = "it has changed since it was trusted: its entry, or a file that its command names"
        cause = changed if trust.knows(server) else "nobody has trusted it yet"
        step = f"look at what it starts, and trust it: planwright mcp trust {server.name}"
        standings.append(
            Standing(server, entry, chosen, prefixes[server.name], "untrusted", cause, step, files=files)
        )
    return standings


def unstarted_servers(settings: Settings) -> dict[str, str]:
    """Map what the names of tools begin with to the servers they are of, as long as none was started.

    Where the file cannot be read, they are the servers that settings or trust name. Raises SetupError for a
    setting that cannot be meant.
    """
    try:
        return {standing.prefix: standing.name for standing in read_standings(settings)}
    except UnreadableFile:
        named = {*settings.mcp, *Trust(settings.workspace).read()}
        return {prefix: name for name, prefix in plain_names(named, SERVER).items()}


def untrusted_servers(settings: Settings) -> list[str]:
    """Name the servers that wait for trust of their own. Raises SetupError for a file that cannot be read."""
    return [standing.name for standing in read_standings(settings) if standing.state == "untrusted"]


def _check_names(settings: Settings, servers: Sequence[ConfiguredServer]) -> None:
    """Refuse settings of a server that is not in the file: taken for nothing they would tighten nothing."""
    names = [server.name for server in servers]
    for name in settings.mcp:
        if name not in names:
            near = nearest(name, names, least=45)
            raise SetupError(
                f"{settings.workspace / SETTINGS}: `mcp.{name}`: {FILE_NAME} lists no server of that name",
                f"did you mean `mcp.{near[0]}`?" if near else "take it out, or add the server",
            )
