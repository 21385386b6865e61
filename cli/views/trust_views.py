"""Show what a folder brings along, and ask a person whether it is trusted."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

from planwright.capabilities.tools.tool_servers import tool_servers
from planwright.capabilities.trust.brought import brought_along
from planwright.capabilities.trust.guard import untrusted_things
from planwright.cli.views import rendering as views
from planwright.domain.errors import SetupError
from planwright.security.credentials import login_name
from planwright.settings.settings import Settings, load
from planwright.store.folder_trust import (
    Brought,
    FolderTrust,
    below_no_more,
    trust_below,
    trusted_folders,
)

YES = ("y", "yes")


def trust_workspace(folder: Path, yes: bool) -> int:
    """Show what a folder brings, ask, and let it count; what was typed but `y` trusts nothing.

    Returns the exit code: 1 where the folder is not trusted.
    """
    settings = load(folder)
    by_folder, screen = untrusted_things(settings), views.console()
    if not by_folder:
        screen.print(views.label("trusted", f"{settings.workspace} brings nothing that is not trusted"))
    elif not yes and not sys.stdin.isatty():
        show_brought(by_folder, stderr=True)
        raise SetupError(
            "there is no terminal to ask at", f"planwright trust {quote(str(settings.workspace))} --yes"
        )
    else:
        show_brought(by_folder)
        if not yes and not _agreed():
            screen.print(views.label("not trusted", "nothing of it counts", "yellow"))
            return 1
        _give(by_folder)
        screen.print(views.label("trusted", f"until something of it changes: {settings.workspace}", "green"))
    _print_servers(settings)
    return 0


def trusted_now(settings: Settings) -> bool:
    """Ask a person at the terminal about a folder; say whether it is trusted now."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    by_folder = untrusted_things(settings)
    show_brought(by_folder, stderr=True)
    if not _agreed():
        return False
    _give(by_folder)
    return True


def trust_all_below(folder: Path, yes: bool) -> int:
    """Trust all there is in a folder, now and later."""
    place = folder.resolve()
    if not yes and not sys.stdin.isatty():
        raise SetupError(
            "there is no terminal to ask at", f"planwright trust {quote(str(place))} --below --yes"
        )
    views.console().print(
        views.label("trust", f"{place}: all that lies in it counts, and what is put there later")
    )
    if not yes and not _agreed():
        return 1
    trust_below(place)
    return 0


def trust_below_no_more(folder: Path) -> int:
    """Take back what `trust_all_below` has given. Raises SetupError where it had not."""
    if not below_no_more(folder):
        raise SetupError(f"{folder.resolve()} was not trusted with all in it", "planwright trust --revoke")
    print(f"{folder.resolve()}: what lies in it is asked for again")
    return 0


def distrust_workspace(folder: Path) -> int:
    """Let nothing count any more that a folder brings, its MCP servers included.

    Raises SetupError where it lies in a folder in which all is trusted.
    """
    settings = load(folder)
    trusts = [FolderTrust(place) for place in brought_along(settings)]
    taken = [trust.take_back(*trust.read()) for trust in trusts]
    around = [place for place in trusted_folders() if settings.workspace.resolve().is_relative_to(place)]
    if around:
        step = f"take that back: planwright trust {quote(around[0])} --below --revoke"
        raise SetupError(f"all that lies in {around[0]} is trusted", step)
    print(f"{settings.workspace}: nothing is trusted any more" if any(taken) else "nothing was trusted")
    return 0


def show_brought(by_folder: Mapping[Path, Sequence[Brought]], *, stderr: bool = False) -> None:
    """List what would count as a diff: what is new, and what has changed since it was trusted."""
    screen = views.console(stderr=stderr)
    for folder, things in by_folder.items():
        before = FolderTrust(folder).read()
        screen.print(views.label("folder", str(folder)))
        for thing in things:
            if thing.name in before:
                screen.print(views.label("", f"- {thing.name} = {before[thing.name].shows}", "red"))
            screen.print(views.label(thing.does, f"+ {thing.name} = {thing.shows}", "green"))


def _give(by_folder: Mapping[Path, Sequence[Brought]]) -> None:
    for folder, things in by_folder.items():
        FolderTrust(folder).give(things, login_name())


def _agreed() -> bool:
    sys.stderr.write("           trust this folder? [y/N] ")
    sys.stderr.flush()
    try:
        return input().strip().lower() in YES
    except EOFError:
        return False


def _print_servers(settings: Settings) -> None:
    """Name the MCP servers that wait for trust of their own."""
    if names := tool_servers(settings).untrusted_servers(settings):
        hint = f"{', '.join(names)}: each is trusted by itself: planwright mcp trust"
        views.console().print(views.label("mcp", hint, "yellow"))
