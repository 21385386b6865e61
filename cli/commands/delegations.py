"""`planwright delegations`: the commands. Each loads what it needs when it is called."""

from __future__ import annotations

from typing import Annotated

import typer

from planwright.cli.commands.help_page import group
from planwright.cli.commands.option_groups import DelegationTerms, grouped
from planwright.cli.commands.options import HERE, Folder, Json

app = group("What agents may do for a while without asking you.")

Names = Annotated[list[str], typer.Argument(metavar="CAPABILITY…", help="A name, or a pattern as pay.*")]


@app.command()
@grouped
def issue(
    capabilities: Names, workspace: Folder = HERE, *, terms: DelegationTerms, json: Json = False
) -> None:
    """Let calls of mode delegated be made without asking, in your name, until it expires."""
    from planwright.cli.views.delegation_views import issue_delegation

    raise typer.Exit(issue_delegation(capabilities, terms, workspace, json))


@app.command()
def ls(workspace: Folder = HERE, json: Json = False) -> None:
    """List the delegations, who issued them, and when they expire."""
    from planwright.cli.views.delegation_views import show_delegations

    raise typer.Exit(show_delegations(workspace, json))


@app.command()
def revoke(
    delegation: Annotated[str, typer.Argument(help="The id of a delegation.")], workspace: Folder = HERE
) -> None:
    """Take a delegation back, for runs that are under way, too."""
    from planwright.cli.views.delegation_views import revoke_delegation

    raise typer.Exit(revoke_delegation(delegation, workspace))
