"""`planwright eval`: how past runs did, and whether the plans of approved runs are still made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from planwright.cli.commands.help_page import Commands
from planwright.cli.commands.options import HERE, Folder, Json, Thread

By = Literal["all", "agent", "model", "week", "risk"]

app = typer.Typer(cls=Commands)


@app.callback(invoke_without_command=True)
def figures(
    context: typer.Context,
    by: Annotated[By, typer.Option(help="What to group runs by.")] = "all",
    since: Annotated[str, typer.Option(metavar="DAY", help="Runs begun since then, as 2026-11-01.")] = "",
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the shares by group into an SVG file.")
    ] = None,
    workspace: Folder = HERE,
    json: Json = False,
) -> None:
    """Show how past runs did: plans that pass, steps that succeed or recover, escalations, time and cost."""
    if context.invoked_subcommand is None:
        from planwright.extras.audit.evaluation_views import show_evaluation

        raise typer.Exit(show_evaluation(by, since, plot, workspace, json))


@app.command()
def add(
    thread: Thread,
    name: Annotated[str, typer.Argument(help="What to call the case: a new file in evals/.")],
    workspace: Folder = HERE,
) -> None:
    """Keep a request with its approved or edited plan, as a case for later."""
    from planwright.extras.audit.regression import add_case

    raise typer.Exit(add_case(thread, name, workspace))


@app.command()
def run(
    names: Annotated[list[str] | None, typer.Argument(help="Which cases; all if left out.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Other arguments are a failure, too.")] = False,
    workspace: Folder = HERE,
    json: Json = False,
) -> None:
    """Plan each case anew with the model, prompts and policy of today; run nothing. Exit 1 on a failure."""
    from planwright.extras.audit.regression import run_cases

    raise typer.Exit(run_cases(names or [], strict, workspace, json))
