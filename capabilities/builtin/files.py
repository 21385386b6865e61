"""Files of the workspace, and none outside it."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from planwright.capabilities.builtin.file_versions import (
    UNDONE_BY,
    describe_version,
    put_back,
    put_back_over,
    replace,
    written_over,
)
from planwright.capabilities.builtin.places import bare_name_of, file_of, file_or_bare_name, find_file
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Guide
from planwright.capabilities.declaration import capability
from planwright.capabilities.descriptions import Deed
from planwright.capabilities.document_rules import check_document, check_name
from planwright.domain.errors import CapabilityRejected
from planwright.domain.references import has_reference

MOST_FILES, MOST_TEXT = 200, 1_000_000  # of what is read at once

PathArgument = Annotated[
    str, Field(description="a path below the workspace", json_schema_extra={"format": "path"})
]


class Listing(BaseModel):
    """Relative paths, sorted."""

    files: list[str]
    """Paths in the workspace, sorted."""
    count: int
    """Number of those files."""


class FileText(BaseModel):
    """A file's content."""

    path: str
    """Path in the workspace, in full where a bare name was given."""
    text: str
    """Whole text of the file."""


class FileTexts(BaseModel):
    """The text files of a folder and below it."""

    files: list[FileText]
    """The files, sorted by path."""
    count: int
    """Number of those files."""
    unreadable: list[str] = []
    """Why files could not be read, a sentence each."""


class Written(BaseModel):
    """A file that was written; `version` names what it held before, empty when it was not there."""

    path: str
    """Path in the workspace."""
    bytes: int
    """Size of the text in bytes of UTF-8."""
    version: str
    """Names what the file held before, for `files.restore`; "" where it was not there."""


class RestoredFile(BaseModel):
    """A file that is what it was; `version` names what it held until then."""

    model_config = ConfigDict(title="Restored")
    path: str
    """Path in the workspace."""
    version: str
    """Names what the file held until then, for another `files.restore`."""


class Line(BaseModel):
    """A line that matched, counted from 1."""

    path: str
    """Path of the file in the workspace."""
    line: int
    """Number of the line, counted from 1."""
    text: str
    """The line without spaces around it; at most 300 characters."""


class Lines(BaseModel):
    """The lines that matched."""

    matches: list[Line]
    """The first lines that matched, up to the limit asked for."""
    count: int
    """Number of all lines that matched."""
    unreadable: list[str] = []
    """Why files could not be read, a sentence each."""


def check_inside(args: Mapping[str, JsonValue], call: CallContext) -> None:
    """Refuse a path that may lead out of the workspace."""
    path = args.get("path")
    if isinstance(path, str):
        call.workspace.check(path)


def check_readable(args: Mapping[str, JsonValue], call: CallContext) -> None:
    """Refuse the path of a file that may lead out of the workspace, or is not read."""
    path = args.get("path")
    if isinstance(path, str):
        call.workspace.check(path) if has_reference(path) else call.workspace.check_readable(path)


def check_writable(args: Mapping[str, JsonValue], call: CallContext) -> None:
    """Refuse a path that may lead out of the workspace, and what is no document."""
    path = args.get("path")
    if isinstance(path, str):
        call.workspace.check(path, write=True)
        if not has_reference(path):
            check_document(path, call)


def check_document_name(args: Mapping[str, JsonValue], call: CallContext) -> None:
    """Refuse a path that could not be the name of a document, whatever it is by now."""
    path = args.get("path")
    if isinstance(path, str) and not has_reference(path):
        check_name(path, call)


@capability(
    "files.list",
    mode="read_only",
    tags=("file", "folder", "directory", "list"),
    guide=Guide(
        "Lists files; `pattern` filters by name, e.g. *.md.", ("List the markdown files in notes",), 30
    ),
    preflight=check_inside,
    reads=file_of,
)
def list_files(call: CallContext, path: PathArgument = ".", pattern: str = "*") -> Listing:
    """List the files in a folder of the workspace and below it."""
    files = [name for name in call.workspace.files(path) if fnmatch(name.rpartition("/")[2], pattern)]
    return Listing(files=files, count=len(files))


@capability(
    "files.read",
    mode="read_only",
    tags=("file", "read", "open", "show", "content"),
    guide=Guide(
        "Reads one text file. A bare file name is looked for in the whole workspace.",
        ("Show me notes/roadmap.md",),
        30,
    ),
    preflight=check_readable,
    reads=file_or_bare_name,
)
def read(path: PathArgument, call: CallContext) -> FileText:
    """Read a text file of the workspace."""
    place = find_file(path, call)
    return FileText(path=place, text=call.workspace.read(place))


@capability(
    "files.read_all",
    mode="read_only",
    tags=("folder",),
    guide=Guide(
        "Reads the text files of a folder at once; `pattern` filters by name, e.g. *.md. text.summarize takes"
        " its `files`.",
        ("Summarize all notes",),
        35,
    ),
    preflight=check_inside,
    reads=file_of,
)
def read_all(call: CallContext, path: PathArgument = ".", pattern: str = "*") -> FileTexts:
    """Load the text of every file in a folder of the workspace and below it."""
    files: list[FileText] = []
    unreadable: list[str] = []
    left = MOST_TEXT
    for name in call.workspace.files(path):
        if _is_text(name, call.settings.sources.mail) and fnmatch(name.rpartition("/")[2], pattern):
            try:
                text = call.workspace.read(name)
            except CapabilityRejected as error:
                unreadable.append(error.cause)
                continue
            if "\0" in text or text.count("\ufffd") > len(text) / 100:
                unreadable.append(f"{name} is no text")
                continue
            left -= len(text)
            if left < 0 or len(files) == MOST_FILES:
                raise CapabilityRejected(
                    f"the files in {path} are too much to read at once: more than {MOST_FILES} files, or"
                    f" {MOST_TEXT:,} characters",
                    "name a folder below it, or a pattern",
                )
            files.append(FileText(path=name, text=text))
    return FileTexts(files=files, count=len(files), unreadable=unreadable)


@capability(
    "files.write",
    mode="local_write",
    risk="Medium",
    effect="idempotent",
    tags=("file", "write", "save", "store"),
    guide=Guide("Writes a text file, replacing it if it is there.", ("Save the summary to summary.md",), 30),
    preflight=check_writable,
    adds=bare_name_of,
    writes=file_of,
    destinations=("path",),
    deed=Deed("write", "file", ""),
    rewrites=written_over,
    trusted_result=True,
    compensation=UNDONE_BY,
)
def write(path: PathArgument, text: str, call: CallContext) -> Written:
    """Write a text into a file of the workspace, replacing what is there."""
    check_document(path, call)
    data = text.encode()
    return Written(path=path, bytes=len(data), version=replace(path, data, call))


@capability(
    "files.restore",
    mode="local_write",
    risk="Medium",
    effect="idempotent",
    tags=("restore", "revert"),
    guide=Guide("Undoes a files.write or documents.create by its `version`. Seldom in a plan.", (), 900),
    preflight=check_document_name,
    deed=Deed("restore", "file", ""),
    describe=describe_version,
    rewrites=put_back_over,
    adds=bare_name_of,
    writes=file_of,
    compensation=UNDONE_BY,
)
def restore(
    path: PathArgument,
    version: Annotated[str, Field(description="the `version` a call that replaced it has returned")],
    call: CallContext,
) -> RestoredFile:
    """Restore an earlier version; "" removes the file."""
    check_name(path, call)
    return RestoredFile(path=path, version=put_back(path, version, call))


@capability(
    "files.search",
    mode="read_only",
    tags=("file", "search", "find", "grep", "mention"),
    guide=Guide("Finds lines that hold a text.", ("Which notes mention pricing?",), 30),
    preflight=check_inside,
    reads=file_of,
)
def search(
    query: Annotated[str, Field(description="the text to look for", min_length=1)],
    call: CallContext,
    path: PathArgument = ".",
    limit: Annotated[int, Field(ge=1, le=1000)] = 50,
) -> Lines:
    """Search the files of the workspace for lines that hold a text, ignoring case."""
    wanted = query.lower()
    matches: list[Line] = []
    count = 0
    unreadable: list[str] = []
    for name in call.workspace.files(path):
        if not _is_text(name, call.settings.sources.mail):
            continue
        try:
            rows = call.workspace.read(name).splitlines()
        except CapabilityRejected as error:
            unreadable.append(error.cause)
            continue
        for number, row in enumerate(rows, 1):
            if wanted in row.lower():
                count += 1
                if len(matches) < limit:
                    matches.append(Line(path=name, line=number, text=row.strip()[:300]))
    return Lines(matches=matches, count=count, unreadable=unreadable[:limit])


def _is_text(name: str, mailbox: Path) -> bool:
    """Say whether a file is none of those that other capabilities read: databases and mails."""
    mail = Path(name).is_relative_to(mailbox) and ("/cur/" in name or "/new/" in name)
    return not (mail or name.endswith((".db", ".db-wal", ".db-shm", ".eml")))
