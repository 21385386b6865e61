"""Paths of the workspace that settings and `.mcp.json` name: what is there is believed or started."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from planwright.capabilities.trust.command_files import command_files
from planwright.capabilities.trust.mcp_entries import FILE_NAME, ConfiguredServer, read_entries
from planwright.domain.errors import CapabilityForbidden, SetupError
from planwright.security.key_files import folded_parts
from planwright.settings.settings import Settings, child_environment

CASES_FOLDER = "evals"
"""Folder of a workspace with the cases that `planwright eval run` plays."""


@dataclass(frozen=True)
class Reserved:
    """A path below the workspace, as `spelled` spells it, and who names it; `below`: so is what is in it."""

    parts: tuple[str, ...]
    """Names of the path below the workspace, one after another."""
    named_by: str
    """Who names it, such as a setting."""
    below: bool = True
    """Whether what is in it is reserved, too."""

    def covers(self, parts: tuple[str, ...]) -> bool:
        """Say whether a path is this one, or below it."""
        return parts == self.parts or (self.below and parts[: len(self.parts)] == self.parts)


def reserved_paths(settings: Settings) -> Iterator[Reserved]:
    """List what settings and `.mcp.json` name. Raises CapabilityForbidden when that cannot be read.

    The workspace itself is left out: where it is the calendar, it is the type of a file that counts.
    """
    yield Reserved((CASES_FOLDER,), "planwright eval run")
    for name, path in _files_in(settings, ""):
        yield from _at(settings.workspace, path, f"the setting {name}")
    try:
        servers = read_entries(settings.workspace)
    except SetupError as error:
        raise CapabilityForbidden(
            f"nobody can tell what {FILE_NAME} starts: {error.cause}", error.next_step
        ) from error
    for server in servers:
        yield from _of_server(settings.workspace, server)


def named_files(settings: Settings) -> Iterator[Reserved]:
    """List the files that settings name, such as keys and instructions; no sources of data."""
    for name, path in _files_in(settings, ""):
        if not name.startswith("sources."):
            yield from _at(settings.workspace, path, f"the setting {name}")


def _files_in(section: BaseModel, where: str) -> Iterator[tuple[str, Path]]:
    for name in type(section).model_fields:
        if where or name != "workspace":
            yield from _files_of(getattr(section, name), f"{where}{name}")


def _files_of(value: object, name: str) -> Iterator[tuple[str, Path]]:
    if isinstance(value, BaseModel):
        yield from _files_in(value, f"{name}.")
    elif isinstance(value, dict):
        for key, held in value.items():
            yield from _files_of(held, f"{name}.{key}")
    elif isinstance(value, list | tuple):
        for held in value:
            yield from _files_of(held, name)
    elif isinstance(value, Path):
        yield name, value
    elif isinstance(value, str) and name.endswith("_file"):
        yield name, Path(value)


def _of_server(workspace: Path, server: ConfiguredServer) -> Iterator[Reserved]:
    environment = child_environment({})
    try:
        entry = server.with_variables(environment)
    except SetupError:
        entry = server.entry  # it does not start as it is
    named_by = f"the server {server.name} in {FILE_NAME}"
    for path in command_files(server, entry, environment):
        yield from _at(workspace, path, named_by, below=False)
    for path in (Path(part) for value in entry.env.values() for part in value.split(os.pathsep) if part):
        yield from _at(server.folder(entry), path, named_by, root=workspace, below=False)
    if entry.cwd:
        yield from _at(workspace, server.folder(entry), named_by)


def _at(
    folder: Path, path: Path, named_by: str, *, root: Path | None = None, below: bool = True
) -> Iterator[Reserved]:
    """Reserve a path as it is written, and where its links lead."""
    home = (root or folder).resolve()
    if "\0" in str(path):
        return  # no file has such a name
    for place in dict.fromkeys((os.path.normpath(folder / path), os.path.realpath(folder / path))):
        if Path(place).is_relative_to(home) and Path(place) != home:
            yield Reserved(folded_parts(Path(place).relative_to(home).parts), named_by, below)
