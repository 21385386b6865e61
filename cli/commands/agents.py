"""`planwright agents`: the commands. Each loads what it needs when it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planwright.cli.commands.help_page import group

app = group("The agents of a workspace: profiles to run by.")

Folder = Annotated[Path, typer.Option("--workspace", "-w", help="The workspace folder.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
AgentId = Annotated[str, typer.Argument(metavar="AGENT", help="The agent's name under [agents].")]
HERE = Path()


@app.command("ls")
def list_agents(workspace: Folder = HERE, json: Json = False) -> None:
    """List the agents of a workspace."""
    from planwright.cli.views.agent_views import show_agents

    raise typer.Exit(show_agents(workspace, json))


@app.command()
def show(agent: AgentId, workspace: Folder = HERE, json: Json = False) -> None:
    """Show what is in force for an agent, and which setting says so."""
    from planwright.cli.views.agent_views import show_agent

    raise typer.Exit(show_agent(agent, workspace, json))


@app.command()
def edit(agent: AgentId, workspace: Folder = HERE) -> None:
    """Change an agent's table of planwright.toml in $EDITOR; what would not load is refused."""
    from planwright.cli.actions.agent_table import edit_agent

    raise typer.Exit(edit_agent(agent, workspace))
