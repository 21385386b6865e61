"""`planwright demo`: the command. It loads what it needs when it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planwright.cli.commands.options import ApprovesItself, NoBrowser, PagePort, Verbose


def demo(
    folder: Annotated[Path, typer.Option(help="Where the demo workspace lives.")] = Path("planwright-demo"),
    no_input: ApprovesItself = False,
    verbose: Verbose = False,
    page: Annotated[bool, typer.Option("--web", help="Open the page of the demo workspace instead.")] = False,
    port: PagePort = None,
    no_browser: NoBrowser = False,
) -> None:
    """Run the main job on a demo workspace: mail, tickets, notes and a team channel."""
    from planwright.extras.demo.demo_command import demonstrate, demonstrate_page

    if page:
        raise typer.Exit(demonstrate_page(folder, port, not no_browser))
    raise typer.Exit(demonstrate(folder, no_input, verbose=verbose))
