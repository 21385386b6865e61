"""A folder is trusted once, on this machine, before what it brings runs, sends or opens anything.

One that brings nothing of that kind needs no trust, and what a command of ours writes is trusted by that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote

from planwright.capabilities.trust.brought import brought_along
from planwright.domain.errors import SetupError
from planwright.settings.settings import Settings, load
from planwright.store.folder_trust import Brought, FolderTrust
from planwright.store.private_files import alone_in, is_open_to_others

MOST_NAMED = 3


class FolderUntrusted(SetupError):
    """A folder brings what nobody trusts on this machine: nothing of it was run."""

    def __init__(self, settings: Settings, things: Sequence[Brought]) -> None:
        named = ", ".join(f"{thing.name} ({thing.does})" for thing in things[:MOST_NAMED])
        more = f" and {len(things) - MOST_NAMED} more" if len(things) > MOST_NAMED else ""
        cause = f"{settings.workspace} brings what nobody trusts on this machine: {named}{more}"
        super().__init__(
            cause, f"look at it, and trust it: planwright trust -w {quote(str(settings.workspace))}"
        )
        self.settings = settings


def load_trusted(workspace: Path | str = ".") -> Settings:
    """Read the settings of a workspace as `load` does, and raise FolderUntrusted where it is not trusted."""
    settings = load(workspace)
    refuse_untrusted(settings)
    return settings


def refuse_untrusted(settings: Settings) -> None:
    """Raise FolderUntrusted where a folder brings anything along that nobody trusts as it is."""
    untrusted = untrusted_things(settings)
    if untrusted.keys() == {settings.store_folder.resolve()} and not is_open_to_others(settings.store_folder):
        with suppress(OSError), alone_in(settings.store_folder):  # another process of ours may just write it
            untrusted = untrusted_things(settings)
    if nobodys := [thing for things in untrusted.values() for thing in things]:
        raise FolderUntrusted(settings, nobodys)


def untrusted_things(settings: Settings) -> Mapping[Path, list[Brought]]:
    """List what a workspace brings along and nobody trusts as it is, by the folder that trust is bound to."""
    by_folder: dict[Path, list[Brought]] = {}
    for folder, things in brought_along(settings).items():
        trust = FolderTrust(folder)
        if trust.is_below_trusted():
            continue
        known = {name: record.digest for name, record in trust.read().items()}
        if new := [thing for thing in things if known.get(thing.name) != thing.digest]:
            by_folder[folder] = new
    return by_folder


def trust_folder(settings: Settings, by: str, only: Collection[str] = ()) -> None:
    """Trust what a workspace brings along as it stands: all of it, or by name what was just written there."""
    for folder, things in untrusted_things(settings).items():
        FolderTrust(folder).give([thing for thing in things if not only or thing.name in only], by)
