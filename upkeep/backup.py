"""Take a backup of a store while it is used: the database as it was at one moment, and all blobs."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import tarfile
import uuid
from contextlib import closing
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from planwright.domain.errors import SetupError
from planwright.store.private_files import FILE_MODE, close_to_others, private_folder
from planwright.store.store_errors import BROKEN, refuse_other, store_error, store_version
from planwright.store.store_files import (
    BLOBS,
    RECORDS,
    VERSION,
    no_store,
    read_only,
    read_write,
)

MANIFEST = "backup.json"
PACKED = (".tar.gz", ".tgz", ".tar")
INSIDE = "planwright-backup"


class SavedFile(BaseModel):
    """One database of a backup: its size in bytes, its sha256, and the version of its tables."""

    model_config = ConfigDict(frozen=True)
    size: int
    """Size in bytes."""
    sha256: str
    """SHA-256 of the file, 64 hex digits."""
    version: int
    """Version of its tables: the number of migrations applied."""


class Manifest(BaseModel):
    """What a backup holds, and when it was taken."""

    model_config = ConfigDict(frozen=True)
    taken_at: datetime
    """When the backup was taken, in UTC."""
    files: dict[str, SavedFile]
    """The databases by file name."""
    blobs: int
    """Number of the blobs that are in it."""


def back_up(folder: Path, destination: Path, at: datetime, busy_timeout_s: float = 30) -> Manifest:
    """Write a backup: a folder, or one file where the name ends with .tar.gz, .tgz or .tar.

    It is for its owner alone, and appears when it is complete. Raises SetupError for a destination that is
    there, for a store that is not, and for whatever stands against reading the one or writing the other.
    """
    if not (folder / RECORDS).is_file():
        raise no_store(folder)
    if os.path.lexists(destination):
        raise SetupError(f"{destination} is there already", "name a file or folder that is not there yet")
    draft = destination.absolute().with_name(f".{destination.name}.{uuid.uuid4().hex[:8]}")
    try:
        private_folder(draft)
        files = {RECORDS: _copy_database(folder / RECORDS, draft / RECORDS, busy_timeout_s)}
        blobs = _copy_blobs(folder / BLOBS, draft / BLOBS)
        manifest = Manifest(taken_at=at, files=files, blobs=blobs)
        (draft / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n", "utf-8")
        close_to_others(draft)
        os.sync()
        if destination.name.endswith(PACKED):
            _pack(draft, destination)
        else:
            draft.rename(destination)
    except OSError as error:
        raise store_error(destination, error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return manifest


def _copy_database(path: Path, copy: Path, busy_timeout_s: float) -> SavedFile:
    """Copy the database as it is at one moment, as `kill -9` would leave it: every run goes on from that.

    Nothing that is written to it meanwhile is in the copy (sqlite.org/isolation.html).
    """
    try:
        with closing(read_write(path, busy_timeout_s)) as writable:  # takes back what a dead process began
            refuse_other(path, writable, VERSION)
        with closing(read_only(path)) as source, closing(_new_database(copy)) as target:
            source.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")  # one file, readable where nobody may write
            version = store_version(target)
    except BROKEN as error:
        raise store_error(path, error) from error
    return SavedFile(size=copy.stat().st_size, sha256=hash_of(copy), version=version)


def _new_database(path: Path) -> sqlite3.Connection:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))
    return sqlite3.connect(path, isolation_level=None)


def _copy_blobs(source: Path, target: Path) -> int:
    """Copy the blobs, which are never changed; a row names a blob only after that was written."""
    if not source.is_dir():
        return 0
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(".*"))
    return sum(1 for path in target.rglob("*") if path.is_file())


def _pack(draft: Path, destination: Path) -> None:
    packed = draft.with_name(f"{draft.name}.tar")
    mode = "w" if destination.name.endswith(".tar") else "w:gz"
    try:
        descriptor = os.open(packed, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE)
        with open(descriptor, "wb") as file, tarfile.open(fileobj=file, mode=mode) as archive:  # type: ignore[call-overload]
            archive.add(draft, arcname=INSIDE)
        os.sync()
        packed.rename(destination)
    finally:
        packed.unlink(missing_ok=True)


def hash_of(path: Path) -> str:
    """Hash a file. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
