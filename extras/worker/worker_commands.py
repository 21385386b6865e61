"""`planwright worker`: the command. It loads what it needs when it is called."""

from __future__ import annotations

from typing import Annotated

import typer

from planwright.cli.commands.options import HERE, Folder


def worker(
    workspace: Folder = HERE,
    until_idle: Annotated[
        bool, typer.Option("--until-idle", help="End when nothing is left to be taken up.")
    ] = False,
    metrics: Annotated[
        int | None,
        typer.Option(min=1, max=65535, metavar="PORT", help="Answer /healthz and /metrics on this machine."),
    ] = None,
) -> None:
    """Go on with what is queued, until you stop it (Ctrl-C, or SIGTERM): then it hands over what runs."""
    from planwright.extras.worker.serving import work

    raise typer.Exit(work(workspace, until_idle=until_idle, metrics=metrics))
