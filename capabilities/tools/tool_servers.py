"""Servers of a workspace that bring tools as capabilities. Where none is named, nothing is loaded."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, cast

from planwright.capabilities.contract import Capability
from planwright.capabilities.trust.mcp_entries import FILE_NAME
from planwright.domain.errors import SetupError
from planwright.domain.plugins import plugin
from planwright.settings.settings import Settings

Check = tuple[str, Callable[[], str]]
"""Name of what `planwright doctor` checks, and the check: what it says, or SetupError."""


def raising(error: SetupError) -> Callable[[], str]:
    """Make the check that fails with an error."""

    def check() -> str:
        raise error

    return check


class ToolServers(Protocol):
    """The servers of a workspace as they are once they were started."""

    @property
    def capabilities(self) -> Sequence[Capability]:
        """The tools of all servers that are ready."""

    @property
    def absent(self) -> Mapping[str, str]:
        """The servers of which tools are not there, by what the names of those tools begin with."""

    @property
    def problems(self) -> Iterable[str]:
        """Why servers or tools that should be there are not, and what to do, one line each."""

    def checks(self) -> Iterator[Check]:
        """Check each server that is switched on, for `planwright doctor`."""

    def leave_out(self, taken: Collection[str]) -> None:
        """Leave out the tools whose names are taken by others."""

    def close(self) -> None:
        """End the processes and connections of the servers."""


class ToolServerPlugin(Protocol):
    """Starts the servers of a workspace, and says how they stand before that."""

    def start_servers(self, settings: Settings) -> ToolServers:
        """Start the trusted servers. Raises SetupError for settings that cannot be meant."""

    def open_servers(self, settings: Settings) -> ToolServers:
        """Start them for an agent. Raises SetupError also for a required one that is left out."""

    def unstarted_servers(self, settings: Settings) -> Mapping[str, str]:
        """Map what the names of tools begin with to the servers they are of. Nothing is started."""

    def untrusted_servers(self, settings: Settings) -> list[str]:
        """Name the servers that wait for trust of their own. Raises SetupError for an unreadable file."""


class NoToolServers:
    """A workspace that names no servers."""

    capabilities: Sequence[Capability] = ()
    """There are no tools of servers."""
    absent: Mapping[str, str] = {}
    """Nothing is missing."""
    problems: Iterable[str] = ()
    """Nothing is wrong."""

    def checks(self) -> Iterator[Check]:
        """Check nothing."""
        return iter(())

    def leave_out(self, taken: Collection[str]) -> None:
        """Leave nothing out."""

    def close(self) -> None:
        """End nothing."""


class NoServerPlugin:
    """Where no server is named, none is started, and the plugin is not loaded."""

    def start_servers(self, settings: Settings) -> ToolServers:
        """Start nothing."""
        return NoToolServers()

    open_servers = start_servers

    def unstarted_servers(self, settings: Settings) -> Mapping[str, str]:
        """Name nothing."""
        return {}

    def untrusted_servers(self, settings: Settings) -> list[str]:
        """Name nothing."""
        return []


def tool_servers(settings: Settings) -> ToolServerPlugin:
    """Find what starts the servers of a workspace. Raises SetupError where some are named and nothing can."""
    if settings.mcp or os.path.lexists(settings.workspace / FILE_NAME):
        return cast(ToolServerPlugin, plugin("tool_servers", "mcp"))
    return NoServerPlugin()
