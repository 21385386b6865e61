"""`planwright delegations`: the commands. Each loads what it needs when it is called."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from planwright.cli.commands.options import HERE, Folder, Json

app = typer.Typer(no_args_is_help=True, help="What agents may do for a while without asking you.")

Names = Annotated[list[str], typer.Argument(metavar="CAPABILITY…", help="A name, or a pattern as pay.*")]
Risk = Literal["None", "Low", "Medium", "High", "Critical"]
MOST_HOURS = 24 * 366


@app.command()
def issue(
    capabilities: Names,
    workspace: Folder = HERE,
    hours: Annotated[float, typer.Option(min=0.01, max=MOST_HOURS, help="How long it lasts.")] = 8,
    max_risk: Annotated[Risk, typer.Option(help="The gravest risk of a call it covers.")] = "High",
    tenant: Annotated[str, typer.Option(help="Whose runs it is for.")] = "default",
    reason: Annotated[str, typer.Option("--reason", "-r", help="What it is for.")] = "",
    json: Json = False,
) -> None:
    """Let calls of mode delegated be made without asking, in your name, until it expires."""
    from planwright.cli.views.delegation_views import DelegationTerms, issue_delegation

    terms = DelegationTerms(hours, max_risk, tenant, reason)
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
