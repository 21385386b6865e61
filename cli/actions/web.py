"""`planwright web`: the page of a workspace, on this machine, until Ctrl-C."""

from __future__ import annotations

import contextlib
import importlib.util
import webbrowser
from pathlib import Path

from planwright.cli.session.logs import load_logged
from planwright.cli.views import rendering as views
from planwright.domain.errors import SetupError, how_to_install

PAGE_MODULES = ("starlette", "uvicorn", "jinja2", "joserfc", "limits", "python_multipart")


def open_page(workspace: Path, port: int | None, browser: bool, examples: tuple[str, ...] = ()) -> int:
    """Serve the page of a workspace until Ctrl-C. Returns 0; raises SetupError when it cannot be had."""
    if not all(importlib.util.find_spec(name) for name in PAGE_MODULES):
        raise SetupError(
            "what the page needs is not installed",
            how_to_install("web"),
        )
    from planwright.web.serving import serve_workspace

    screen = views.console()

    def begun(link: str) -> None:
        screen.print(views.label("page", link), soft_wrap=True)
        screen.print(views.label("", "on this machine only; whoever has the link decides in your name"))
        screen.print(views.label("end", "Ctrl-C; runs that wait stay as they are"))
        if browser:
            webbrowser.open(link)

    with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises the signal again that has ended it
        serve_workspace(load_logged(workspace), port, begun, examples)
    screen.print(
        views.label("page", "ended; nothing is lost: what waits stays, and what ran goes on here again")
    )
    return 0
