"""The commands that begin a workspace, and show its settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planwright.cli.commands.options import HERE, Folder, Json


def init(
    folder: Annotated[Path, typer.Argument(help="The folder; made where it is not there.")] = HERE,
) -> None:
    """Begin a workspace: planwright.toml, policy.toml and one capability, with remarks."""
    from planwright.cli.actions.new_workspace import begin_workspace

    raise typer.Exit(begin_workspace(folder))


def trust(
    folder: Annotated[Path | None, typer.Argument(help="The folder; the workspace, if left out.")] = None,
    workspace: Folder = HERE,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    below: Annotated[
        bool, typer.Option("--below", help="Trust all that lies in the folder, now and later: you write it.")
    ] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Take back what was trusted.")] = False,
) -> None:
    """Show what a folder brings that runs, sends or opens something, and let it count from now on."""
    from planwright.cli.views.trust_views import (
        distrust_workspace,
        trust_all_below,
        trust_below_no_more,
        trust_workspace,
    )

    place = folder or workspace
    if revoke:
        raise typer.Exit(trust_below_no_more(place) if below else distrust_workspace(place))
    raise typer.Exit(trust_all_below(place, yes) if below else trust_workspace(place, yes))


def config(workspace: Folder = HERE, json: Json = False) -> None:
    """Show every setting, its value and where it comes from; no secret is shown."""
    from planwright.cli.views.settings_views import show_settings

    raise typer.Exit(show_settings(workspace, json))
