"""`planwright memory`: the commands. Each loads what it needs when it is called."""

from __future__ import annotations

from typing import Annotated

import typer

from planwright.cli.commands.help_page import group
from planwright.cli.commands.options import HERE, Folder, Json, NoInput

app = group("What is remembered, and what runs propose to remember.")

Tenant = Annotated[str, typer.Option(help="Whose memory it is.")]
ProposalId = Annotated[str, typer.Argument(metavar="ID", help="As in: planwright memory proposals.")]


@app.command("ls")
def list_memories(workspace: Folder = HERE, tenant: Tenant = "default", json: Json = False) -> None:
    """List what is remembered, the newest first."""
    from planwright.cli.views.memory_views import show_memories

    raise typer.Exit(show_memories(workspace, tenant, json))


@app.command()
def proposals(
    workspace: Folder = HERE,
    everything: Annotated[
        bool, typer.Option("--all", help="Also those that were accepted or rejected.")
    ] = False,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """List what runs propose to remember, the newest first."""
    from planwright.cli.views.memory_views import show_proposals

    raise typer.Exit(show_proposals(workspace, tenant, everything, json))


@app.command()
def accept(
    proposal: ProposalId,
    workspace: Folder = HERE,
    tenant: Tenant = "default",
    json: Json = False,
    no_input: NoInput = False,
) -> None:
    """Remember a proposal: a run of one step, which this approves."""
    from planwright.cli.actions.memory_runs import accept_proposal
    from planwright.cli.session.drive import Terminal

    raise typer.Exit(accept_proposal(proposal, workspace, tenant, Terminal(json, no_input)))


@app.command()
def reject(proposal: ProposalId, workspace: Folder = HERE, tenant: Tenant = "default") -> None:
    """Turn a proposal down; it is never made again."""
    from planwright.cli.actions.memory_runs import reject_proposal

    raise typer.Exit(reject_proposal(proposal, workspace, tenant))


@app.command()
def forget(
    memory: Annotated[str, typer.Argument(metavar="ID", help="As in: planwright memory ls.")],
    workspace: Folder = HERE,
    tenant: Tenant = "default",
    json: Json = False,
    no_input: NoInput = False,
) -> None:
    """Forget a memory for good: a run of one step, which this approves."""
    from planwright.cli.actions.memory_runs import forget_memory
    from planwright.cli.session.drive import Terminal

    raise typer.Exit(forget_memory(memory, workspace, tenant, Terminal(json, no_input)))
