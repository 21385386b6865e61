"""The commands that do not take a plan or a call as it is: reject it, or change the plan."""

from __future__ import annotations

from typing import Annotated

import typer

from planwright.cli.commands.option_groups import Interaction, grouped
from planwright.cli.commands.options import HERE, Folder, Which


@grouped
def reject(
    which: Which = None,
    workspace: Folder = HERE,
    reason: Annotated[str, typer.Option("--reason", "-r", help="Why; the planner is told.")] = "",
    *,
    interaction: Interaction,
) -> None:
    """Reject what waits at a gate; in a terminal you are asked why, and another plan may follow."""
    from planwright.cli.session.asking import reason_for
    from planwright.cli.session.drive import Terminal, answer_gate

    terminal = Terminal(interaction.json, interaction.no_input, interaction.verbose)
    decision = {"type": "reject", "message": reason or reason_for(terminal)}
    raise typer.Exit(answer_gate(which, decision, workspace, terminal))


@grouped
def edit(
    which: Which = None,
    workspace: Folder = HERE,
    file: Annotated[
        str | None, typer.Option("--file", "-f", help="The edited plan, YAML or JSON; - for stdin.")
    ] = None,
    print_: Annotated[
        bool, typer.Option("--print", help="Print the plan as YAML, and change nothing.")
    ] = False,
    *,
    interaction: Interaction,
) -> None:
    """Change the plan that waits at a gate, in $EDITOR or from a file; it is verified and asked for again."""
    from planwright.cli.session.drive import Terminal, edit_plan

    raise typer.Exit(
        edit_plan(
            which,
            file,
            print_,
            workspace,
            Terminal(interaction.json, interaction.no_input, interaction.verbose),
        )
    )
