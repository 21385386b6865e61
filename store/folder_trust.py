"""What a person trusts on this machine, folder by folder: kept where no folder can bring it along.

Each folder has a file of its own under `XDG_STATE_HOME`, named by the hash of its path, so that a copy of the
folder, or another one to which it is moved, is trusted in nothing. What is trusted is bound to a digest.
`trusted_folders.json` lists folders below which a person has made or read all there is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError

from planwright.domain.clock import utc_now
from planwright.domain.errors import SetupError
from planwright.domain.hashing import sha256
from planwright.settings.settings import state_folder
from planwright.store.private_files import alone_in, read_private, replace_private

FOLDERS = "trusted_folders.json"
OTHERS_WRITE = 0o002
Does = Literal["runs", "sends", "opens"]


@dataclass(frozen=True)
class Brought:
    """One thing that a folder brings along, and that counts once a person trusts it."""

    name: str
    """What it is, such as `audit.command` or `policy.toml`."""
    does: Does
    """What it does: it runs something, sends something somewhere, or opens what else asks or is closed."""
    shows: str
    """What a person is shown of it."""
    digest: str
    """Hash of it, which trust is bound to."""
    tools: tuple[dict[str, JsonValue], ...] = ()
    """Tools of an MCP server, by their fields on the wire; empty before a person has looked at them."""


class GivenTrust(BaseModel):
    """One thing that is trusted: what it was when a person looked at it, and who that was."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    shows: str
    """What the person was shown."""
    digest: str
    """Hash that trust is bound to."""
    given_by: str
    """Who gave the trust; `planwright` for what a command of ours wrote itself."""
    given_at: str
    """When it was given, in ISO 8601."""
    tools: tuple[dict[str, JsonValue], ...] = ()
    """Tools of an MCP server as they were looked at, by their fields on the wire."""


class _FolderFile(BaseModel):
    """The file of one folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    folder: str
    """Path of the folder, links followed."""
    trusted: dict[str, GivenTrust] = {}
    """What is trusted in it, by name."""


class FolderTrust:
    """What is trusted in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.path = state_folder() / "trust" / f"{sha256(str(self.folder))[:32]}.json"

    def covers(self, name: str, digest: str) -> bool:
        """Say whether a person trusts this as it is, or all that lies in a folder around it."""
        record = self.read().get(name)
        return (record is not None and record.digest == digest) or self.is_below_trusted()

    def read(self) -> Mapping[str, GivenTrust]:
        """Read what is trusted by itself: nothing, where the file is of another folder or cannot be read."""
        try:
            file = _FolderFile.model_validate_json(read_private(self.path))
        except (OSError, ValidationError):
            return {}
        return file.trusted if file.folder == str(self.folder) else {}

    def give(self, things: Iterable[Brought], by: str) -> None:
        """Write down that things are trusted as they stand.

        Raises SetupError where nothing can be kept, and where what is kept cannot be relied on.
        """
        at = utc_now().isoformat()
        new = {
            each.name: GivenTrust(
                shows=each.shows, digest=each.digest, given_by=by, given_at=at, tools=each.tools
            )
            for each in things
        }
        try:
            with alone_in(self.path.parent):
                self._write({**self.read(), **new})
                relied_on = self.read()
        except OSError as error:
            raise _not_kept(self.path, error) from error
        if any(name not in relied_on for name in new) and not self.is_below_trusted():
            cause = f"what is trusted does not count in {self.path}: others may read or write there"
            raise SetupError(cause, "set XDG_STATE_HOME to a folder on a disk that keeps rights of files")

    def take_back(self, *names: str) -> bool:
        """Trust things no more, whatever they are now; say whether any was.

        Raises SetupError where that cannot be kept.
        """
        try:
            with alone_in(self.path.parent):
                left = {name: record for name, record in self.read().items() if name not in names}
                if gone := len(left) < len(self.read()):
                    self._write(left)
        except OSError as error:
            raise _not_kept(self.path, error) from error
        return gone

    def is_below_trusted(self) -> bool:
        """Say whether the folder lies in one in which a person trusts all there is."""
        return any(self.folder.is_relative_to(folder) for folder in trusted_folders())

    def _write(self, trusted: Mapping[str, GivenTrust]) -> None:
        file = _FolderFile(folder=str(self.folder), trusted=dict(trusted))
        content = file.model_dump(mode="json")
        replace_private(self.path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def trusted_folders() -> list[str]:
    """List the folders in which a person trusts all there is; none where that cannot be read."""
    try:
        text = read_private(state_folder() / FOLDERS)
        return TypeAdapter(list[str]).validate_json(text) if text else []
    except (OSError, ValidationError):
        return []


def trust_below(folder: Path) -> None:
    """Trust all there is in a folder from now on, and what comes into it later.

    Raises SetupError for one that is not there, that others may write to, or that cannot be kept.
    """
    place, path = folder.resolve(), state_folder() / FOLDERS
    if not place.is_dir():
        raise SetupError(f"there is no folder {place}", "name one that is there")
    if place == Path(place.anchor) or place.stat().st_mode & OTHERS_WRITE:
        raise SetupError(f"others can put files into {place}", "name a folder that only you write to")
    _keep_folders(path, lambda folders: {*folders, str(place)})


def below_no_more(folder: Path) -> bool:
    """Take back what `trust_below` has given; say whether it had."""
    place, before = str(folder.resolve()), trusted_folders()
    _keep_folders(state_folder() / FOLDERS, lambda folders: set(folders) - {place})
    return place in before


def _keep_folders(path: Path, change: Callable[[list[str]], set[str]]) -> None:
    try:
        with alone_in(path.parent):
            folders = sorted(change(trusted_folders()))
            replace_private(path, json.dumps(folders, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise _not_kept(path, error) from error


def _not_kept(path: Path, error: OSError) -> SetupError:
    cause = f"what is trusted cannot be kept in {path}: {error.strerror}"
    return SetupError(cause, "make that folder writable, or set XDG_STATE_HOME to one that is")
