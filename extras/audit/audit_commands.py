"""`planwright audit`, `replay`, `diff` and `tune`: check runs that have ended. Each loads what it needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planwright.cli.commands.help_page import group
from planwright.cli.commands.options import HERE, Folder, Json, Thread

app = group("Check that what is on record is what was recorded.")


@app.command()
def verify(
    anchor: Annotated[
        Path | None,
        typer.Option(help="Heads of the chain, kept elsewhere; audit.anchor if left out."),
    ] = None,
    workspace: Folder = HERE,
    json: Json = False,
) -> None:
    """Compare the store with its audit chain, and name what was changed. Exit 1 on findings."""
    from planwright.extras.audit.chain_views import show_verification

    raise typer.Exit(show_verification(anchor, workspace, json))


@app.command()
def export(
    to: Annotated[Path, typer.Argument(help="A new file, one entry of the chain a line, as JSON.")],
    workspace: Folder = HERE,
) -> None:
    """Write the audit chain to a file, with the record of every run that has ended."""
    from planwright.extras.audit.chain_views import export_chain

    raise typer.Exit(export_chain(to, workspace))


def replay(
    thread: Annotated[str, typer.Argument(help="A run or thread id, its beginning, last, or all.")],
    policy: Annotated[Path | None, typer.Option(help="Say what this policy would block, or ask.")] = None,
    workspace: Folder = HERE,
    json: Json = False,
) -> None:
    """Make the verdicts and the record of a run anew, by its records alone. Exit 1 where they differ."""
    from planwright.extras.audit.replay_views import show_policy_replay, show_replay

    if policy is not None:
        raise typer.Exit(show_policy_replay(thread, policy, workspace, json))
    raise typer.Exit(show_replay(thread, workspace, json))


def tune(workspace: Folder = HERE, json: Json = False) -> None:
    """Say what other settings would have changed in past runs, and propose a diff; apply nothing."""
    from planwright.extras.audit.tuning_views import show_tuning

    raise typer.Exit(show_tuning(workspace, json))


def diff(before: Thread, after: Thread, workspace: Folder = HERE, json: Json = False) -> None:
    """Say what differs between two runs, by their records. Exit 1 where anything does."""
    from planwright.extras.audit.replay_views import show_diff

    raise typer.Exit(show_diff(before, after, workspace, json))
