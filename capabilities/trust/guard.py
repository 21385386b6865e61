"""A folder is trusted once, on this machine, before what it brings runs, sends or opens anything.

One that brings nothing of that kind needs no trust, and what a command of ours writes is trusted by that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from planwright.capabilities.trust.brought import brought_along
from planwright.checkpoints.consent.folder_trust import Brought, FolderTrust
from planwright.domain.errors import SetupError
from planwright.settings.settings import Settings, load

SHOWN = 3


class FolderUntrusted(SetupError):
    """A folder brings what nobody trusts on this machine: nothing of it was run."""

    def __init__(self, settings: Settings, things: Sequence[Brought]) -> None:
        named = ", ".join(f"{thing.name} ({thing.does})" for thing in things[:SHOWN])
        more = f" and {len(things) - SHOWN} more" if len(things) > SHOWN else ""
        cause = f"{settings.workspace} brings what nobody trusts on this machine: {named}{more}"
        super().__init__(cause, f"look at it, and trust it: planwright trust -w {settings.workspace}")
        self.settings = settings


def load_trusted(workspace: Path | str = ".", **flags: Any) -> Settings:
    """Read the settings of a workspace as `load` does, and raise FolderUntrusted where it is not trusted."""
    settings = load(workspace, **flags)
    refuse_untrusted(settings)
    return settings


def refuse_untrusted(settings: Settings) -> None:
    """Raise FolderUntrusted where a folder brings anything along that nobody trusts as it is."""
    untrusted = [thing for things in waiting(settings).values() for thing in things]
    if untrusted:
        raise FolderUntrusted(settings, untrusted)


def waiting(settings: Settings) -> Mapping[Path, list[Brought]]:
    """List what a workspace brings along and nobody trusts as it is, by the folder that trust is bound to."""
    found: dict[Path, list[Brought]] = {}
    for folder, things in brought_along(settings).items():
        trust = FolderTrust(folder)
        if new := [thing for thing in things if not trust.covers(thing.name, thing.digest)]:
            found[folder] = new
    return found


def trust_folder(settings: Settings, by: str, only: Collection[str] = ()) -> None:
    """Trust what a workspace brings along as it stands: all of it, or by name what was just written there."""
    for folder, things in waiting(settings).items():
        FolderTrust(folder).give([thing for thing in things if not only or thing.name in only], by)
