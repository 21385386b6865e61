"""The command that calls one capability by its name."""

from __future__ import annotations

from typing import Annotated

import typer

from planwright.cli.commands.option_groups import Interaction
from planwright.cli.commands.options import HERE, Agent, Folder


def call(
    context: typer.Context,
    capability: Annotated[str, typer.Argument(help="Its name, as in: planwright capabilities.")],
    args: Annotated[
        str | None, typer.Option(metavar="JSON", help="All arguments as JSON, @FILE, or - for stdin.")
    ] = None,
    workspace: Folder = HERE,
    agent: Agent = None,
    *,
    interaction: Interaction,
) -> None:
    """Call a capability without a model, through policy, gate and ledger; --NAME=VALUE for each argument."""
    from planwright.cli.actions.calling import call as call_capability
    from planwright.cli.session.drive import Terminal
    from planwright.domain.run_context import RunContext

    options = RunContext(agent=agent)
    terminal = Terminal(interaction.json, interaction.no_input, interaction.verbose)
    raise typer.Exit(call_capability(capability, context.args, args, workspace, options, terminal))
