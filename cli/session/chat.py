"""A conversation at the terminal: one thread, a run for every message."""

from __future__ import annotations

import uuid
from pathlib import Path

from planwright.cli.session.drive import Terminal, start
from planwright.cli.session.logs import load_logged
from planwright.cli.views import rendering as views
from planwright.domain.errors import PlanwrightError, SetupError
from planwright.domain.run_context import RunContext
from planwright.settings.profile import in_force

PROMPT = "› "


def converse(workspace: Path, thread: str | None, options: RunContext, *, verbose: bool = False) -> int:
    """Answer what is typed until the end of the input. Returns the exit code.

    Raises SetupError where nobody can type, and for an agent that there is not.
    """
    terminal = Terminal(as_json=False, no_input=False, verbose=verbose, talking=not verbose)
    if not terminal.interactive:
        raise SetupError("there is no terminal to talk at", 'send one request: planwright run "…"')
    in_force(load_logged(workspace), options)
    talking = thread or str(uuid.uuid4())
    terminal.screen.print(views.label("thread", f"{talking} (Ctrl-D ends the conversation)"))
    while True:
        terminal.screen.print(PROMPT, end="", markup=False)
        try:
            request = input().strip()
        except (EOFError, KeyboardInterrupt):
            terminal.screen.print()
            return 0
        if not request:
            continue
        try:
            start(request, workspace, talking, options, terminal)
        except PlanwrightError as error:
            terminal.screen.print(views.safe(f"error: {error}"), markup=False)
