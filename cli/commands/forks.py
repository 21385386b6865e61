"""The commands that go back: to a checkpoint of a run, or on what it has done; on a thread of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from planwright.cli.commands.option_groups import Interaction, grouped
from planwright.cli.commands.options import HERE, Folder, Json, Thread


@grouped
def fork(
    thread: Thread,
    checkpoint: Annotated[
        str | None, typer.Option(help="Begin at this checkpoint; see `planwright checkpoints`.")
    ] = None,
    rerun: Annotated[
        list[str] | None, typer.Option(help="Do this step again, and what needs it; may be repeated.")
    ] = None,
    workspace: Folder = HERE,
    *,
    interaction: Interaction,
) -> None:
    """Run a plan again on a new thread: steps that were done keep their results, the rest is asked for."""
    from planwright.cli.actions.forking import fork as fork_run
    from planwright.cli.session.drive import Terminal

    raise typer.Exit(
        fork_run(
            thread,
            checkpoint,
            rerun or [],
            workspace,
            Terminal(interaction.json, interaction.no_input, interaction.verbose),
        )
    )


def checkpoints(thread: Thread, workspace: Folder = HERE, json: Json = False) -> None:
    """List the checkpoints of a run, the newest first, and what a fork from each keeps."""
    from planwright.cli.actions.forking import show_checkpoints

    raise typer.Exit(show_checkpoints(thread, workspace, json))


@grouped
def undo(
    thread: Thread,
    look: Annotated[bool, typer.Option("--look", help="Only list what would be undone.")] = False,
    without: Annotated[
        list[str] | None, typer.Option(help="Leave what this step did as it is; may be repeated.")
    ] = None,
    workspace: Folder = HERE,
    *,
    interaction: Interaction,
) -> None:
    """Undo what a run has done, as far as that is declared; you approve exactly what is called for it."""
    from planwright.cli.actions.undoing import list_compensations
    from planwright.cli.actions.undoing import undo as undo_run
    from planwright.cli.session.drive import Terminal

    if look:
        raise typer.Exit(list_compensations(thread, without or [], workspace, interaction.json))
    terminal = Terminal(interaction.json, interaction.no_input, interaction.verbose)
    raise typer.Exit(undo_run(thread, without or [], workspace, terminal))
