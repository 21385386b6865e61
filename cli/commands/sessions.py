"""`planwright sessions`: the commands. Each loads what it needs when it is called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from planwright.cli.commands.help_page import group
from planwright.cli.commands.option_groups import grouped
from planwright.cli.commands.options import HERE, Folder, Json, Limit, PageNumber, Thread
from planwright.cli.views.paging import Page

app = group("Runs in the background: what is queued, how far it is, and what you ask of it.")


@dataclass(frozen=True)
class Extension:
    """What a session is given beyond its limits."""

    tokens: Annotated[int, typer.Option(min=0, help="So many tokens more.")] = 0
    """Tokens of models, more than it had."""
    model_calls: Annotated[int, typer.Option(min=0, help="So many calls of models more.")] = 0
    """Calls of models, more than it had."""
    tool_calls: Annotated[int, typer.Option(min=0, help="So many calls more.")] = 0
    """Calls of capabilities, more than it had."""
    effects: Annotated[int, typer.Option(min=0, help="So many changes more.")] = 0
    """Calls that change something, more than it had."""
    effects_per_minute: Annotated[int, typer.Option(min=0, help="So many unasked ones a minute more.")] = 0
    """Calls a minute that change something and that nobody decided over, more than it had."""
    cost: Annotated[float, typer.Option(min=0, help="So many US dollars more.")] = 0
    """US dollars for models, more than it had."""
    work: Annotated[float, typer.Option(min=0, metavar="SECONDS", help="So much more time of work.")] = 0
    """Seconds of work, more than it had."""
    time: Annotated[float, typer.Option(min=0, metavar="SECONDS", help="Let it expire so much later.")] = 0
    """Seconds by which it expires later."""


OPTION_OF = {
    **{
        unit: unit
        for unit in ("tokens", "model_calls", "tool_calls", "effects", "effects_per_minute", "cost")
    },
    "wall_clock_s": "work",
    "ttl_s": "time",
}
"""Names of the options that give more of each unit."""


@app.command("ls")
def list_sessions(
    workspace: Folder = HERE,
    open_only: Annotated[bool, typer.Option("--open", help="Only those that have not ended.")] = False,
    limit: Limit = Page.limit,
    page: PageNumber = Page.number,
    json: Json = False,
) -> None:
    """List the sessions of a workspace, the newest first, a page at a time."""
    from planwright.cli.views.background.session_views import show_sessions

    raise typer.Exit(show_sessions(workspace, open_only, Page(page, limit), json))


@app.command()
def show(thread: Thread, workspace: Folder = HERE, json: Json = False) -> None:
    """Show how a session stands, how far it is, and what is left of its budget."""
    from planwright.cli.views.background.session_views import show_session

    raise typer.Exit(show_session(thread, workspace, json))


@app.command()
def watch(thread: Thread, workspace: Folder = HERE, json: Json = False) -> None:
    """Print how far a session is whenever that changes, until it stands still."""
    from planwright.cli.views.background.session_views import watch_session

    raise typer.Exit(watch_session(thread, workspace, json))


@app.command()
def pause(thread: Thread, workspace: Folder = HERE) -> None:
    """Pause a run: what has begun is finished, and nothing more begins until somebody resumes it."""
    from planwright.cli.actions.background import pause_session

    raise typer.Exit(pause_session(thread, workspace))


@app.command()
def resume(thread: Thread, workspace: Folder = HERE) -> None:
    """Queue a paused session again, for a worker to go on with."""
    from planwright.cli.actions.background import resume_session

    raise typer.Exit(resume_session(thread, workspace))


@app.command()
def cancel(thread: Thread, workspace: Folder = HERE) -> None:
    """Cancel a session: running calls finish, the rest is skipped."""
    from planwright.cli.actions.cancelling import stop

    raise typer.Exit(stop(thread, workspace))


@app.command()
@grouped
def extend(thread: Thread, workspace: Folder = HERE, *, more: Extension) -> None:
    """Give a run more than its limits, or a session more time; one at a limit goes on by resume."""
    from planwright.cli.actions.background import extend_session

    amounts: dict[str, float] = {unit: getattr(more, name) for unit, name in OPTION_OF.items()}
    raise typer.Exit(extend_session(thread, workspace, amounts))
