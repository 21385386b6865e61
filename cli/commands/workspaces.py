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


def config(workspace: Folder = HERE, json: Json = False) -> None:
    """Show every setting, its value and where it comes from; no secret is shown."""
    from planwright.cli.views.settings_views import show_settings

    raise typer.Exit(show_settings(workspace, json))
