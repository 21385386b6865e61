"""`planwright db`: the commands that look after the store. Each loads what it needs when it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from planwright.cli.commands.help_page import group
from planwright.cli.commands.options import HERE, Folder, Json

app = group("Look after the store: check, back up, restore, accept, prune, read.")

Format = Literal["csv", "json", "ndjson"]


@app.command()
def check(workspace: Folder = HERE, json: Json = False) -> None:
    """Look for what is wrong in the store, and say what to do. Changes nothing; exit 1 on findings."""
    from planwright.cli.views.db_views import show_check

    raise typer.Exit(show_check(workspace, json))


@app.command()
def backup(
    to: Annotated[Path, typer.Argument(help="A new folder, or a new file: .tar.gz, .tgz or .tar.")],
    workspace: Folder = HERE,
    json: Json = False,
) -> None:
    """Back up the database and all blobs, as they are at one moment, also while runs go on."""
    from planwright.cli.views.db_views import take_backup

    raise typer.Exit(take_backup(to, workspace, json))


@app.command()
def restore(
    backup: Annotated[Path, typer.Argument(help="As written by: planwright db backup.")],
    workspace: Folder = HERE,
    json: Json = False,
) -> None:
    """Put a backup in the place of the store; the present one is kept beside it."""
    from planwright.cli.views.db_views import put_back

    raise typer.Exit(put_back(backup, workspace, json))


@app.command()
def accept(
    id: Annotated[
        str | None, typer.Argument(help="What is shown without it; with it the store goes on.")
    ] = None,
    workspace: Folder = HERE,
    json: Json = False,
) -> None:
    """Show the effects that a store lacks after it went back, and let it go on without them."""
    from planwright.cli.actions.accepting import accept_setback

    raise typer.Exit(accept_setback(id, workspace, json))


@app.command()
def prune(
    keep: Annotated[
        int | None, typer.Option(min=1, help="Checkpoints of a thread that stay; storage.keep_checkpoints.")
    ] = None,
    workspace: Folder = HERE,
    json: Json = False,
) -> None:
    """Remove old checkpoints: the newest of each thread stay, as points that a fork can begin at."""
    from planwright.cli.views.db_views import remove_checkpoints

    raise typer.Exit(remove_checkpoints(keep, workspace, json))


@app.command()
def vacuum(workspace: Folder = HERE, json: Json = False) -> None:
    """Give the space of deleted rows back to the disk."""
    from planwright.cli.views.db_views import make_small

    raise typer.Exit(make_small(workspace, json))


@app.command()
def migrate(
    to: Annotated[str, typer.Option(help="A PostgreSQL database: postgresql://user@host/name.")],
    workspace: Folder = HERE,
    json: Json = False,
) -> None:
    """Copy the store into a PostgreSQL database that nobody has used; the files stay as they are."""
    from planwright.cli.views.db_views import move_to_server

    raise typer.Exit(move_to_server(to, workspace, json))


@app.command()
def tables(workspace: Folder = HERE, json: Json = False) -> None:
    """List the tables, with their rows and columns."""
    from planwright.cli.views.db_tables import show_tables

    raise typer.Exit(show_tables(workspace, json))


@app.command()
def query(
    sql: Annotated[str, typer.Argument(metavar="SELECT", help="One SELECT; nothing else is let through.")],
    workspace: Folder = HERE,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    json: Json = False,
    limit: Annotated[int, typer.Option(min=1, help="How many rows are printed at most.")] = 1000,
) -> None:
    """Read the store by SQL: its records, and the tables of the checkpoints."""
    from planwright.cli.views.db_tables import show_query

    raise typer.Exit(show_query(sql, workspace, "csv" if csv else "json" if json else "table", limit))


@app.command()
def export(
    table: Annotated[str, typer.Argument(help="A table, or: all.")],
    to: Annotated[Path, typer.Argument(help="A new file; for all tables a new folder.")],
    format: Annotated[Format, typer.Option(help="How rows are written.")] = "csv",
    workspace: Folder = HERE,
) -> None:
    """Write a table to a file, or all tables to the files of a folder."""
    from planwright.cli.views.db_tables import export_tables

    raise typer.Exit(export_tables(table, to, format, workspace))
