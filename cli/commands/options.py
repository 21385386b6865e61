"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

Agent = Annotated[str | None, typer.Option(help="The agent to be: a profile under [agents].")]
Folder = Annotated[Path, typer.Option("--workspace", "-w", help="The workspace folder.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Limit = Annotated[int, typer.Option(min=1, max=10_000, help="How many rows a page has.")]
Mode = Literal["auto", "llm_decides", "always", "never"]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")]
ApprovesItself = Annotated[bool, typer.Option("--no-input", help="Never ask: it approves its own plan.")]
NoInput = Annotated[bool, typer.Option("--no-input", help="Never ask; exit 3 when a decision is needed.")]
PageNumber = Annotated[int, typer.Option("--page", min=1, max=10**9, help="Which page, from 1 on.")]
Port = Annotated[
    int | None, typer.Option(min=1, max=65535, help="The port; 2024 or any free one if left out.")
]
PagePort = Annotated[
    int | None, typer.Option("--port", min=1, max=65535, help="The port; 2025 or any free one if left out.")
]
Probe = Annotated[bool, typer.Option("--probe", help="Find out by small calls what each provider can do.")]
Provider = Annotated[str | None, typer.Option(help="The provider to use, or provider/model.")]
Request = Annotated[str, typer.Argument(help="What to do, in plain words.")]
Thread = Annotated[str, typer.Argument(help="A thread or run id, its beginning, or last.")]
Which = Annotated[
    str | None,
    typer.Argument(help="A gate or thread id, its beginning, or last; may be left out when one is open."),
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show all detail: models, checks, usage, whole values.")
]
HERE = Path()
