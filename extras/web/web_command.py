"""`planwright web`: the page of a workspace, on this machine, until Ctrl-C."""

from __future__ import annotations

import contextlib
import importlib.util
import webbrowser
from pathlib import Path

from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.session.logs import load_logged
from planwright.cli.views import rendering as views
from planwright.domain.errors import SetupError
from planwright.domain.plugins import how_to_install
from planwright.extras.web.served_pages import opening_file, served_pages

PAGE_MODULES = ("starlette", "uvicorn", "jinja2", "joserfc", "limits", "python_multipart")


def open_page(workspace: Path, port: int | None, browser: bool, examples: tuple[str, ...] = ()) -> int:
    """Serve the page of a workspace until Ctrl-C. Returns 0; raises SetupError when it cannot be had."""
    if not all(importlib.util.find_spec(name) for name in PAGE_MODULES):
        raise SetupError(
            "what the page needs is not installed",
            how_to_install("web"),
        )
    from planwright.extras.web.serving import serve_workspace

    screen, settings = views.console(), load_logged(workspace)
    with contextlib.ExitStack() as while_served:

        def begun(link: str) -> None:
            screen.print(views.label("page", link), soft_wrap=True)
            if settings.web.on_this_machine:
                words = "on this machine only, and good once; whoever opens it decides in your name"
                screen.print(views.label("", words))
                again = f"planwright web --link{views.where_option(workspace)}"
                screen.print(views.label("another", again), soft_wrap=True)
            screen.print(views.label("end", "Ctrl-C; runs that wait stay as they are"))
            if browser:  # what it is opened with stands in every list of processes
                webbrowser.open(while_served.enter_context(opening_file(settings, link)).as_uri())

        with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises the signal again that has ended it
            serve_workspace(settings, port, begun, examples)
    screen.print(
        views.label("page", "ended; nothing is lost: what waits stays, and what ran goes on here again")
    )
    return 0


def print_links(workspace: Path) -> int:
    """Print a link to each page of a workspace that is served on this machine. Raises SetupError for none."""
    links = [page.link() for page in served_pages(load_trusted(workspace))]
    if not links:
        where = views.where_option(workspace)
        raise SetupError("no page of this workspace is served here", f"begin: planwright web{where}")
    print(*links, sep="\n")
    return 0
