"""`planwright --version`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer


def _say(wanted: bool) -> None:
    if wanted:
        print(f"planwright {version('planwright')}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_say, is_eager=True, help="Say the version.")]


def options(version: Version = False) -> None:
    """Plan, approve, run, resume and undo work that has consequences."""
