"""What file capabilities may write: documents. Nothing that runs, nothing that decides, no data of others.

Checked before a plan is shown, and again in front of the write: a path may have become a database since.
"""

from __future__ import annotations

import csv
import re
import stat
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.reserved_paths import Reserved, reserved_paths
from planwright.domain.errors import CapabilityForbidden
from planwright.language.first_person import folded
from planwright.security.key_files import folded_parts
from planwright.settings.files import PROGRAMS

_PACKAGES = ("site-packages", "dist-packages", "node_modules", "__pypackages__", "__pycache__")
_PACKAGE_ENDINGS = (".dist-info", ".egg-info", ".egg", ".app")
_JOURNALS = ("-journal", "-wal", "-shm")  # SQLite plays them back into the database beside them
_DATABASE = b"SQLite format 3\0"  # https://sqlite.org/fileformat.html, 1.3
_MAILBOX = re.compile(rb"From \S+ +(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? ")  # RFC 4155, appendix A
_HEAD = 512
_ELSEWHERE = "no setting allows it: write a document of another name, such as notes/summary.md"


def check_document(path: str, call: CallContext) -> None:
    """Refuse to write a path that is no document, or where something else stands.

    Raises CapabilityForbidden, or CapabilityRejected where what stands there cannot be read.
    """
    check_name(path, call)
    head = call.workspace.beginning(path, _HEAD)
    if head is None:
        return
    data, mode = head
    if mode & (stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH):
        raise _never(path, "an executable file is there")
    if data.startswith(_DATABASE):
        raise _never(path, "a database is there")
    if _MAILBOX.match(data):
        raise _never(path, "a mailbox is there")


def check_name(path: str, call: CallContext) -> None:
    """Refuse to write a path by its name and folders, whatever stands there. Raises CapabilityForbidden."""
    parts = call.workspace.check(path, write=True)
    if not parts:
        return  # the workspace itself, which the jail does not write
    names = folded_parts(parts)
    for why in _never_written(call, parts, names):
        raise _never(path, why)
    plain, allowed = call.settings.files, "/".join(parts)
    if any(_fits(parts, pattern) for pattern in plain.allow):
        return
    advice = f'list it in planwright.toml: [files] allow = ["{allowed}"]'
    if reader := _obeyed_by(names[-1]):
        raise CapabilityForbidden(f"{path} is obeyed by {reader}", advice)
    if PurePosixPath(names[-1]).suffix not in plain.types:
        raise CapabilityForbidden(
            f"{path} is no document: those end in {' '.join(plain.types)}",
            f"give it one of these endings, or {advice}",
        )


def _never_written(call: CallContext, parts: tuple[str, ...], names: tuple[str, ...]) -> Iterator[str]:
    """Say what no setting can allow about a path."""
    root, last = call.workspace.root, names[-1]
    if any(name.startswith(".") for name in (*parts, *names)):
        yield "what begins with a dot is read by programs"
    if ":" in last:
        yield "what follows a colon is a part of another file to some file systems"
    if PurePosixPath(last).suffix in PROGRAMS or last in PROGRAMS:
        yield f"a {PurePosixPath(last).suffix} file is a program"
    if last.endswith(_JOURNALS):
        yield "it is the journal of a database"
    if any(name in _PACKAGES or name.endswith(_PACKAGE_ENDINGS) for name in names[:-1]):
        yield "programs are installed there"
    for depth in range(len(parts)):
        folder = root.joinpath(*parts[:depth])
        if (folder / "pyvenv.cfg").exists():
            yield "it is in a virtual environment"
        if all((folder / name).is_dir() for name in ("cur", "new", "tmp")):
            yield "it is in a mailbox"
    for reserved in (*_import_path(root), *reserved_paths(call.settings)):
        if reserved.covers(names):
            yield f"{reserved.named_by} names it"


def _import_path(root: Path) -> Iterator[Reserved]:
    """List the folders below the workspace that this program imports from; never the workspace itself."""
    for entry in sys.path:
        place = Path(entry or ".").resolve()
        if place != root and place.is_relative_to(root):
            yield Reserved(folded_parts(place.relative_to(root).parts), "the import path")


def _fits(names: tuple[str, ...], pattern: str) -> bool:
    wanted = PurePosixPath(pattern).parts
    pairs = zip(map(folded, names), map(folded, wanted), strict=False)
    return len(names) == len(wanted) and all(fnmatchcase(name, part) for name, part in pairs)


def _obeyed_by(name: str) -> str | None:
    """Say who does what a file of a name says; None for a name that means nothing to anybody."""
    return next((reader for pattern, reader in _obeyed() if fnmatchcase(name, pattern)), None)


@cache
def _obeyed() -> tuple[tuple[str, str], ...]:
    """Read the table of names, spelled as paths are."""
    text = files(__package__).joinpath("obeyed_names.csv").read_text("utf-8")
    rows = csv.DictReader(text.splitlines())
    return tuple((folded_parts((row["name"],))[0], row["obeyed_by"]) for row in rows)


def _never(path: str, why: str) -> CapabilityForbidden:
    return CapabilityForbidden(f"{path} is not written: {why}", _ELSEWHERE)
