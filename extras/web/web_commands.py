"""The commands that serve a workspace: to browsers, and to LangGraph Studio and the SDKs."""

from __future__ import annotations

from typing import Annotated

import typer

from planwright.cli.commands.options import HERE, Folder, NoBrowser, PagePort, Port


def studio(workspace: Folder = HERE, port: Port = None, no_browser: NoBrowser = False) -> None:
    """Serve the workspace to LangGraph Studio and the LangGraph SDKs, on this machine only."""
    from planwright.extras.web.studio import open_studio

    raise typer.Exit(open_studio(workspace, port, not no_browser))


def web(
    workspace: Folder = HERE,
    port: PagePort = None,
    no_browser: NoBrowser = False,
    link: Annotated[
        bool, typer.Option("--link", help="Print another link to the page that is served, good once.")
    ] = False,
) -> None:
    """Open the page of a workspace in a browser: approvals, runs, effects, requests."""
    from planwright.extras.web.web_command import open_page, print_links

    raise typer.Exit(print_links(workspace) if link else open_page(workspace, port, not no_browser))
