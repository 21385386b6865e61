"""`planwright usage`: the command. It loads what it needs when it is called."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from planwright.cli.commands.options import HERE, Folder, Json, Limit, PageNumber
from planwright.cli.views.paging import Page

By = Literal["provider", "run", "day", "tenant"]


def usage(
    by: Annotated[By, typer.Option(help="What to sum up by.")] = "provider",
    workspace: Folder = HERE,
    limit: Limit = Page.limit,
    page: PageNumber = Page.number,
    json: Json = False,
) -> None:
    """Show what was used: tokens, calls, cost, the limits of providers and what is left of them."""
    from planwright.cli.views.usage_views import show_usage

    raise typer.Exit(show_usage(by, workspace, Page(page, limit), json))
