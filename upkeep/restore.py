"""Put a backup in the place of the present store, which is kept beside it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tarfile
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from planwright.domain.errors import SetupError, StoreFailed
from planwright.store.marks.mark import Mark
from planwright.store.owners import folder_of
from planwright.store.private_files import close_to_others, private_folder
from planwright.store.store_errors import BROKEN, refuse_other, store_error
from planwright.store.store_files import (
    BLOBS,
    RECORDS,
    SIDE_FILES,
    VERSION,
    read_only,
)
from planwright.upkeep.backup import INSIDE, MANIFEST, Manifest, hash_of
from planwright.upkeep.store_use import refuse_while_used


@dataclass(frozen=True)
class Restored:
    """What was put in place, and where the store from before is; None where there was none."""

    manifest: Manifest
    """What the backup holds."""
    set_aside: Path | None
    """Folder that the store from before is in; None where there was none."""


def restore(backup: Path, folder: Path, at: datetime) -> Restored:
    """Put a backup in place. Raises SetupError for one that is no whole backup, or is of a newer program.

    Raises RunError while another process works on the present store, or has it open. Until all of the backup
    is checked and copied beside it, the present store stays as it is.
    """
    with _unpacked(backup, folder) as source:
        manifest = _checked(backup, source)
        refuse_while_used(folder, even_open=True)
        draft = private_folder(folder) / f".restoring-{uuid.uuid4().hex[:8]}"
        try:
            shutil.copytree(source, draft, ignore=shutil.ignore_patterns(MANIFEST, ".*"))
            close_to_others(draft)
            os.sync()
            _bring_mark(folder)
            set_aside = _set_aside(folder, f"before-{at:%Y%m%dT%H%M%S}Z")
            for name in (BLOBS, RECORDS):
                if (draft / name).exists():
                    (draft / name).rename(folder / name)
        except OSError as error:
            raise store_error(folder, error) from error
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return Restored(manifest, set_aside)


@contextmanager
def _unpacked(backup: Path, folder: Path) -> Iterator[Path]:
    """Find the folder of a backup; one that is packed is unpacked beside the store as long as it is read."""
    if not backup.exists():
        raise SetupError(f"there is no backup at {backup}", "name one: planwright db restore FILE-or-FOLDER")
    if backup.is_dir():
        yield backup
        return
    place = private_folder(folder) / f".unpacked-{uuid.uuid4().hex[:8]}"
    try:
        with tarfile.open(backup) as archive:
            archive.extractall(private_folder(place), filter="data")
        yield place / INSIDE
    except (tarfile.TarError, EOFError, OSError) as error:
        raise _no_backup(backup, str(error)) from error
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _checked(backup: Path, source: Path) -> Manifest:
    try:
        manifest = Manifest.model_validate_json((source / MANIFEST).read_text("utf-8"))
    except (OSError, ValidationError, UnicodeDecodeError) as error:
        raise _no_backup(backup, f"{MANIFEST} cannot be read") from error
    if manifest.files.keys() != {RECORDS}:
        raise _no_backup(backup, f"{MANIFEST} names other files")
    path = source / RECORDS
    try:
        if hash_of(path) != manifest.files[RECORDS].sha256:
            raise _no_backup(backup, f"{RECORDS} has been changed since it was taken")
        with closing(read_only(path)) as connection:
            refuse_other(path, connection, VERSION)
            if connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
                raise _no_backup(backup, f"{RECORDS} was damaged when it was taken")
    except (OSError, *BROKEN) as error:
        raise _no_backup(backup, f"{RECORDS}: {error}") from error
    return manifest


def _no_backup(backup: Path, why: str) -> SetupError:
    return SetupError(f"{backup} is no whole backup: {why}; nothing was changed", "name another backup")


def _bring_mark(folder: Path) -> None:
    """Let the mark have all that was begun in the present store, as far as that can be read: it stays."""
    path = folder / RECORDS
    mark = Mark(folder_of(path))
    with suppress(StoreFailed, *BROKEN), closing(read_only(path)) as present:
        present.row_factory = sqlite3.Row
        mark.write(mark.compare(present))


def _set_aside(folder: Path, name: str) -> Path | None:
    """Move the present store into a new folder, within the store."""
    files = [f"{RECORDS}{side}" for side in ("", *SIDE_FILES)]
    present = [folder / file for file in (*files, BLOBS) if (folder / file).exists()]
    if not present:
        return None
    target = folder / name
    if target.exists():  # two restores in one second
        target = folder / f"{name}-{uuid.uuid4().hex[:8]}"
    private_folder(target)
    for path in present:
        path.rename(target / path.name)
    return target
