"""`planwright mcp`: the commands. Each loads what it needs when it is called."""

from __future__ import annotations

from typing import Annotated

import typer

from planwright.cli.commands.help_page import group
from planwright.cli.commands.options import HERE, Folder, Json

app = group("The MCP servers of a workspace, as .mcp.json lists them.")

Server = Annotated[str | None, typer.Argument(metavar="SERVER", help="The server's name in .mcp.json.")]


@app.command("ls")
def list_servers(server: Server = None, workspace: Folder = HERE, json: Json = False) -> None:
    """List the servers and how they stand; with a name, its tools. Trusted servers are started for it."""
    from planwright.extras.mcp.mcp_views import show_servers

    raise typer.Exit(show_servers(server, workspace, json))


@app.command()
def trust(
    server: Server = None,
    workspace: Folder = HERE,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Show what a server starts, and let it start from now on; without a name, each that nobody trusts."""
    from planwright.extras.mcp.mcp_views import give_trust

    raise typer.Exit(give_trust(server, workspace, yes))


@app.command()
def revoke(
    server: Annotated[str, typer.Argument(metavar="SERVER", help="The server's name.")],
    workspace: Folder = HERE,
) -> None:
    """Take trust back: the server is started no more."""
    from planwright.extras.mcp.mcp_views import take_trust_back

    raise typer.Exit(take_trust_back(server, workspace))
