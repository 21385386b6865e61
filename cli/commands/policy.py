"""`planwright policy`: the commands. Each loads what it needs when it is called."""

from __future__ import annotations

from typing import Annotated

import typer

from planwright.cli.commands.help_page import group
from planwright.cli.commands.option_groups import CallOptions, grouped
from planwright.cli.commands.options import HERE, Folder, Json

app = group("What may be done, what needs a person, and what may not.")

Name = Annotated[str, typer.Argument(metavar="CAPABILITY", help="Its name, as in: planwright capabilities.")]


@app.command()
def check(workspace: Folder = HERE, json: Json = False) -> None:
    """Check policy.toml, and list its rules, what each is about, and those that decide nothing."""
    from planwright.cli.views.policy_views import show_policy

    raise typer.Exit(show_policy(workspace, json))


@app.command()
@grouped
def explain(capability: Name, workspace: Folder = HERE, *, call: CallOptions, json: Json = False) -> None:
    """Say what the policy answers to one call, by which rule, and whether a person is asked."""
    from planwright.cli.views.policy_views import explain_call

    raise typer.Exit(explain_call(capability, call, workspace, json))
