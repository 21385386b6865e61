"""Trust on first use: a file of the project starts no process until a person said so, once.

Trust is bound to what the server's entry says, to the folder of the workspace, and to what the files in it
hold that the command names. The tools that a person has looked at are kept with it: no others are used. It is
kept on this machine, with what else is trusted of the folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from planwright.capabilities.trust.mcp_entries import ConfiguredServer
from planwright.extras.mcp.tools import Tool, read_tool
from planwright.store.folder_trust import Brought, FolderTrust, GivenTrust

PREFIX = "mcp "


class Trust:
    """The servers of one workspace that a person trusts, each by itself, whatever folder is around it."""

    def __init__(self, workspace: Path) -> None:
        self._folder = FolderTrust(workspace)
        self.path = self._folder.path

    def covers(self, server: ConfiguredServer, hashes: Mapping[str, str]) -> bool:
        """Say whether a person trusts exactly this entry, and these files that its command names."""
        record = self.read().get(server.name)
        return record is not None and record.digest == server.fingerprint(hashes)

    def knows(self, server: ConfiguredServer) -> bool:
        """Say whether trust was given to an entry of this name, whatever it said."""
        return server.name in self.read()

    def tools_of(self, server: ConfiguredServer) -> dict[str, Tool]:
        """Read the tools of a server that a person has looked at, by their names."""
        record = self.read().get(server.name)
        return {tool.name: tool for tool in map(read_tool, record.tools)} if record else {}

    def read(self) -> dict[str, GivenTrust]:
        """Read which servers are trusted: none, where that cannot be read."""
        records = self._folder.read()
        return {name.removeprefix(PREFIX): each for name, each in records.items() if name.startswith(PREFIX)}

    def give(
        self, server: ConfiguredServer, hashes: Mapping[str, str], by: str, tools: Iterable[Tool] = ()
    ) -> None:
        """Write down that a person trusts an entry, the files its command names, and tools, as they stand."""
        fields = tuple(dict(tool.fields()) for tool in tools)
        bound = server.fingerprint(hashes)
        self._folder.give([Brought(f"{PREFIX}{server.name}", "runs", server.starts(), bound, fields)], by)

    def take_back(self, name: str) -> bool:
        """Trust a server no more, whatever its entry says; say whether anybody did."""
        return self._folder.take_back(f"{PREFIX}{name}")
