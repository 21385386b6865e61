"""`planwright ls`, `show` and `events`: the commands. Each loads what it needs when it is called."""

from __future__ import annotations

from typing import Annotated

import typer

from planwright.cli.commands.options import HERE, Folder, Json, Limit, PageNumber, Thread
from planwright.cli.views.paging import Page


def ls(
    workspace: Folder = HERE,
    waiting: Annotated[bool, typer.Option("--waiting", help="Only what waits for a decision.")] = False,
    limit: Limit = Page.limit,
    page: PageNumber = Page.number,
    json: Json = False,
) -> None:
    """List the runs of a workspace, the newest first, a page at a time."""
    from planwright.cli.views.run_list import show_runs

    raise typer.Exit(show_runs(workspace, waiting, Page(page, limit), json))


def show(thread: Thread = "last", workspace: Folder = HERE, json: Json = False) -> None:
    """Show one run, the last unless another is named: its plan, steps, effects, gates and answer."""
    from planwright.cli.views.run_views import show_run

    raise typer.Exit(show_run(thread, workspace, json))


def events(thread: Thread, workspace: Folder = HERE, json: Json = False) -> None:
    """Print the journal of a run, one event a line."""
    from planwright.cli.views.run_views import show_events

    raise typer.Exit(show_events(thread, workspace, json))
