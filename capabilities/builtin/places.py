"""How built-in capabilities name what they use: files of the workspace, databases, what an argument hides."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path, PurePosixPath

from pydantic import JsonValue

from planwright.capabilities.builtin.csv_tables import is_csv
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.resources import NamesOfCall
from planwright.domain.errors import CapabilityRejected
from planwright.domain.references import has_reference
from planwright.security.key_files import folded_parts
from planwright.settings.settings import Settings
from planwright.settings.workspace import SourceSettings

Args = Mapping[str, JsonValue]
DATABASES = (".db", ".sqlite", ".sqlite3")


def file_named(path: str) -> str:
    """Name a file or folder of the workspace, in the one spelling that the workspace has for it."""
    return f"file:{'/'.join(folded_parts(PurePosixPath(path).parts))}"


def file_of(args: Args, call: CallContext) -> list[str]:
    """Name the file or folder of the argument `path`."""
    return _as_file(str(args.get("path")), call)


def bare_name_of(args: Args, call: CallContext) -> list[str]:
    """Name what a file is called, wherever it lies: a bare name is looked for in the whole workspace."""
    path = str(args.get("path"))
    name = "" if has_reference(path) else "/".join(folded_parts(PurePosixPath(path).parts[-1:]))
    return [f"file-name:{name}"]


def file_or_bare_name(args: Args, call: CallContext) -> list[str]:
    """Name the file that is read, and for a bare name all files that are called so."""
    bare = "/" not in str(args.get("path"))
    return file_of(args, call) + (bare_name_of(args, call) if bare else [])


def attachments_of(args: Args, call: CallContext) -> list[str]:
    """Name the files that a mail takes along."""
    paths = args.get("attachments")
    return [name for path in paths for name in _as_file(str(path), call)] if isinstance(paths, list) else []


def find_file(path: str, call: CallContext) -> str:
    """Follow a path, or find the one file of that bare name."""
    if call.workspace.root.joinpath(*call.workspace.check(path)).is_file() or "/" in path:
        return path
    matches = [name for name in call.workspace.files() if name.rpartition("/")[2] == path]
    if len(matches) != 1:
        count = "no file" if not matches else f"{len(matches)} files"
        raise CapabilityRejected(
            f"there is {count} named {path} in the workspace"
            + (f": {', '.join(matches[:4])}" if matches else ""),
            "name the whole path; files.list shows what is there",
        )
    return matches[0]


def _as_file(path: str, call: CallContext) -> list[str]:
    """Name a file; one that is known to be a database is named as that, too."""
    is_database = path.lower().endswith(DATABASES) and not has_reference(path)
    return [file_named(path), *([database_named(call.workspace.root / path, call)] if is_database else [])]


def source(find: Callable[[SourceSettings], Path], *inner: str) -> NamesOfCall:
    """Name a file or folder that the settings name; with `inner`, only these below it."""

    def names(args: Args, call: CallContext) -> list[str]:
        path = call.settings.workspace / find(call.settings.sources)
        return [place_of(path / below, call) for below in inner or (".",)]

    return names


def mails_of(args: Args, call: CallContext) -> list[str]:
    """Name what a search of the mail reads: all of its place, but not the drafts."""
    place = call.settings.workspace / call.settings.sources.mail
    if place.is_file():
        return [place_of(place, call)]
    entries = place.iterdir() if place.is_dir() else ()
    files = sorted(entry.name for entry in entries if not entry.name.startswith("."))
    return [place_of(place / name, call) for name in dict.fromkeys(["cur", "new", *files])]


def place_of(path: Path, call: CallContext) -> str:
    """Name a path as a file of the workspace, or as one that lies elsewhere."""
    real = Path(os.path.realpath(path))
    root = call.workspace.root
    inside = real.is_relative_to(root)
    parts = (real.relative_to(root) if inside else real).parts
    return f"{'file' if inside else 'disk'}:{'/'.join(folded_parts(parts))}"


def tickets_of(args: Args, call: CallContext) -> list[str]:
    """Name the database of the tickets."""
    return [database_named(call.settings.workspace / call.settings.sources.tickets, call)]


def database_of(args: Args, call: CallContext) -> list[str]:
    """Name the file of a database: one that the settings name, or one of the workspace."""
    name = str(args.get("database"))
    if has_reference(name):
        return ["database:", "file:", "disk:"]
    return [database_named(call.workspace.root / call.settings.sources.databases.get(name, name), call)]


def database_named(path: Path, call: CallContext) -> str:
    """Name a database, which no capability of files can use; a table in CSV is a file as any other."""
    place = place_of(path, call)
    return place if is_csv(path.name) else f"database:{place.partition(':')[2]}"


def data_checks(settings: Settings) -> dict[str, Callable[[], bool]]:
    """Say by capability how to tell whether the workspace has what it works on; all others always have."""
    sources = {"mail": ("mail.search", "mail.draft"), "calendar": ("calendar.list",)}
    sources["tickets"] = ("tickets.create", "tickets.close", "tickets.list")
    checks: dict[str, Callable[[], bool]] = {
        name: partial(_has_source, settings, source) for source, names in sources.items() for name in names
    }
    return checks | {
        "mail.send": lambda: bool(settings.mail.host),
        "channel.post": lambda: bool(settings.channels),
    }


def _has_source(settings: Settings, source: str) -> bool:
    """Say whether the settings name a source, or it lies where they expect it."""
    place: Path = getattr(settings.sources, source)
    return source in settings.sources.model_fields_set or (settings.workspace / place).exists()
