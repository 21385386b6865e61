"""The commands over the calls that are always allowed."""

from __future__ import annotations

from typing import Annotated

import typer

from planwright.cli.commands.help_page import group
from planwright.cli.commands.options import HERE, Folder, Json

app = group("The calls that are always allowed.")


@app.command("ls")
def list_rules(workspace: Folder = HERE, json: Json = False) -> None:
    """List the rules, and the file they stand in."""
    from planwright.cli.actions.allow_rules import show_rules

    raise typer.Exit(show_rules(workspace, json))


@app.command("revoke")
def revoke_rule(
    rule: Annotated[str, typer.Argument(help="The id of a rule.")], workspace: Folder = HERE
) -> None:
    """Take a rule back: the call asks again."""
    from planwright.cli.actions.allow_rules import revoke

    raise typer.Exit(revoke(rule, workspace))
