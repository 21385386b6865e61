"""The commands. Each loads what it needs when it is called, so that `--help` and `ls` are quick."""

from __future__ import annotations

import gc
import signal
import sys
from typing import Annotated

import typer

from planwright.cli.commands import (
    agents,
    approve,
    calls,
    db,
    delegations,
    forks,
    memory,
    policy,
    rejections,
    respond,
    rules,
    runs,
    sessions,
    usage,
    workspaces,
)
from planwright.cli.commands.help_page import Commands, called
from planwright.cli.commands.option_groups import Interaction, ProfileOptions, grouped
from planwright.cli.commands.options import (
    HERE,
    Agent,
    Folder,
    Json,
    Probe,
    Provider,
    Request,
    Thread,
    Verbose,
)
from planwright.cli.commands.version import options
from planwright.domain.errors import INTERRUPTED, PlanwrightError, SetupError
from planwright.domain.plugins import plugin, plugins

ORDER = """
    run call plan chat demo cancel approve reject edit respond resume extend fork checkpoints undo init trust
    config worker ls show events usage replay diff tune capabilities doctor studio web
    agents audit eval policy delegations mcp memory db rules sessions
""".split()
"""How the help lists commands; those of other packages come last."""


class AllCommands(Commands):
    """The commands, whoever brings them, in one order."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Name the commands as the help lists them."""
        places = {name: place for place, name in enumerate(ORDER)}
        return sorted(super().list_commands(ctx), key=lambda name: places.get(name, len(places)))


app = typer.Typer(
    name="planwright",
    cls=AllCommands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # boxes around the help load Markdown and Pygments, half of its time
    callback=options,
)

GROUPS = {
    "agents": agents,
    "policy": policy,
    "delegations": delegations,
    "memory": memory,
    "db": db,
    "rules": rules,
    "sessions": sessions,
}
for name, group in GROUPS.items():
    app.add_typer(group.app, name=name)


@app.command()
@grouped
def run(
    request: Request,
    workspace: Folder = HERE,
    thread: Annotated[
        str | None, typer.Option("--thread", "--continue", help="Go on with this thread.")
    ] = None,
    background: Annotated[
        bool, typer.Option("--background", help="Queue it for a worker, and do not wait.")
    ] = False,
    *,
    profile: ProfileOptions,
    interaction: Interaction,
) -> None:
    """Plan a request, ask for approval, run it and print the answer."""
    from planwright.cli.actions.calling import read_object
    from planwright.cli.session.drive import Terminal, start
    from planwright.cli.views.run_views import known_thread
    from planwright.domain.run_context import RunContext

    thread, text = known_thread(workspace, thread), profile.answer_schema
    form = None if text is None else read_object("--answer-schema", text, 'write it as {"total": "float"}')
    options = RunContext(
        agent=profile.agent,
        planning_mode=profile.planning,
        provider=profile.provider,
        snapshot=profile.snapshot,
        answer_schema=form,
    )
    if background:
        from planwright.cli.actions.background import queue_request

        raise typer.Exit(queue_request(request, workspace, thread, options, interaction.json))
    terminal = Terminal(interaction.json, interaction.no_input, interaction.verbose)
    raise typer.Exit(start(request, workspace, thread, options, terminal))


app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(grouped(calls.call))


@app.command()
def plan(
    request: Request,
    workspace: Folder = HERE,
    agent: Agent = None,
    provider: Provider = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Show the verified plan of a request, and run nothing."""
    from planwright.cli.session.drive import Terminal, dry_run
    from planwright.domain.run_context import RunContext

    options = RunContext(agent=agent, provider=provider)
    raise typer.Exit(dry_run(request, workspace, options, Terminal(json, True, verbose)))


@app.command()
def chat(
    workspace: Folder = HERE,
    thread: Annotated[str | None, typer.Option(help="Go on with this thread.")] = None,
    agent: Agent = None,
    provider: Provider = None,
    verbose: Verbose = False,
) -> None:
    """Talk: every message is a run on one thread, with its history and memory."""
    from planwright.cli.session.chat import converse
    from planwright.cli.views.run_views import known_thread
    from planwright.domain.run_context import RunContext

    options = RunContext(agent=agent, provider=provider)
    raise typer.Exit(converse(workspace, known_thread(workspace, thread), options, verbose=verbose))


@app.command()
def cancel(
    which: Annotated[str, typer.Argument(help="A plan, run or thread id.")], workspace: Folder = HERE
) -> None:
    """Cancel a run, from any process: running calls finish, the rest is skipped."""
    from planwright.cli.actions.cancelling import stop

    raise typer.Exit(stop(which, workspace))


for answer in (approve.approve, rejections.reject, rejections.edit, respond.respond):
    app.command()(answer)


@app.command()
@grouped
def resume(
    thread: Thread,
    workspace: Folder = HERE,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Take it from a process that is stopped, or out of sight.")
    ] = False,
    migrate: Annotated[
        bool, typer.Option("--migrate", help="Go on with settings, policy and tools as they are now.")
    ] = False,
    snapshot: Annotated[
        str | None, typer.Option(help="Id of the data it works on; another than it began with is refused.")
    ] = None,
    *,
    interaction: Interaction,
) -> None:
    """Go on with a run that was interrupted, or close one whose gate has expired."""
    from planwright.cli.session.drive import Terminal, recover

    raise typer.Exit(
        recover(
            thread,
            workspace,
            Terminal(interaction.json, interaction.no_input, interaction.verbose),
            take_over=take_over,
            migrate=migrate,
            snapshot=snapshot,
        )
    )


app.command()(sessions.extend)


for command in (forks.fork, forks.checkpoints, forks.undo):
    app.command()(command)


for command in (workspaces.init, workspaces.trust, workspaces.config):
    app.command()(command)


for query in (runs.ls, runs.show, runs.events, usage.usage):
    app.command()(query)


@app.command()
def capabilities(
    name: Annotated[str | None, typer.Argument(help="Show this one in full.")] = None,
    workspace: Folder = HERE,
    json: Json = False,
) -> None:
    """List what can be done, with mode, risk and effect class."""
    from planwright.cli.views.doctor import show_capabilities

    raise typer.Exit(show_capabilities(name, workspace, json))


@app.command()
def doctor(workspace: Folder = HERE, probe: Probe = False) -> None:
    """Check settings, store, sources and providers of a workspace."""
    if probe:
        from planwright.cli.views.probing import probe as check
    else:
        from planwright.cli.views.doctor import check_workspace as check
    raise typer.Exit(check(workspace))


def _add_commands_of_packages() -> None:
    """Add what packages bring, ours among them. None replaces or stops a command of the core."""
    core = GROUPS.keys() | {each.callback.__name__ for each in app.registered_commands if each.callback}
    for name in plugins("commands").keys() - core:
        try:
            command = plugin("commands", name)
        except SetupError as error:
            sys.stderr.write(f"{error.cause}; {error.next_step}\n")
            continue
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)


_add_commands_of_packages()

OBJECTS_TO_COLLECT = 50_000  # 700 by default: modules being loaded are no garbage; 8 % of the start of `web`


def main() -> None:
    """Run a command; a refusal of ours is two lines on stderr, never a traceback."""
    gc.set_threshold(OBJECTS_TO_COLLECT)
    sys.excepthook = _traceback  # kept by what get_command gives; calling the app would put its own in place
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does: the screen is left whole
    try:
        typer.main.get_command(called(app, sys.argv[1:]))()
    except PlanwrightError as error:
        from planwright.cli.refusal import print_refusal

        print_refusal(error, sys.argv[1:])
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; nothing is lost: planwright ls, then planwright resume THREAD\n")
        sys.exit(INTERRUPTED)
    finally:
        # An interrupt in code from a string, by which a dataclass is made, ends `-m` though it was caught;
        exec("")  # the next such code clears that (CPython, run_eval_code_obj)


def _traceback(kind: object, error: BaseException, trace: object) -> None:
    """Print the traceback of a bug, without a secret in it."""
    from planwright.cli.refusal import print_traceback

    print_traceback(error, sys.argv[1:])


if __name__ == "__main__":
    main()
