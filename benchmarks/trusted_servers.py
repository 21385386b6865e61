"""Trust in the MCP servers of a workspace, with the tools that they list, as a person gives it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from planwright.extras.mcp.servers import start_servers
from planwright.extras.mcp.standing import read_standings
from planwright.extras.mcp.trust import Trust
from planwright.settings.settings import load


def trust_servers(workspace: Path) -> None:
    """Trust all servers of a workspace, and the tools of those that start."""
    settings = load(workspace)
    trust = Trust(settings.workspace)
    for standing in read_standings(settings):
        trust.give(standing.server, standing.files, "ada")
    with closing(start_servers(settings)) as servers:
        for standing in servers.standings:
            trust.give(standing.server, standing.files, "ada", standing.tools_now)
