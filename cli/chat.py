"""A conversation at the terminal: one thread, a run for every message."""

from __future__ import annotations

import uuid
from pathlib import Path

from planwright.cli import views
from planwright.cli.drive import Terminal, start
from planwright.graph.errors import PlanwrightError, SetupError

PROMPT = "› "


def converse(workspace: Path, thread: str | None, provider: str | None) -> int:
    """Answer what is typed until the end of the input. Returns the exit code.

    Raises SetupError where nobody can type.
    """
    terminal = Terminal(as_json=False, no_input=False)
    if not terminal.interactive:
        raise SetupError("there is no terminal to talk at", 'send one request: planwright run "…"')
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
            start(request, workspace, talking, None, provider, terminal)
        except PlanwrightError as error:
            terminal.screen.print(views.safe(f"error: {error}"), markup=False)
