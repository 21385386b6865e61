"""`planwright db`: the commands that look after the store. Each loads what it needs when it is called."""

from __future__ import annotations

import typer

app = typer.Typer(no_args_is_help=True, help="Look after the store: check, back up, restore, read.")
