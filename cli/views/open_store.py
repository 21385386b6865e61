"""Open the records of a workspace for reading; nothing is written, and no secret comes out."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from planwright.domain.clock import utc_now
from planwright.domain.errors import RunError, SetupError, StoreFailed
from planwright.records.history.interrupted import interrupted_of, running_leases
from planwright.security.redaction.known_secrets import redactor_of
from planwright.security.redaction.redactor import Redactor
from planwright.settings.settings import FILE_NAME, Settings
from planwright.settings.workspace import StorageSettings
from planwright.store.engines.store_server import open_store_server
from planwright.store.marks.mark import Mark
from planwright.store.marks.setback import Setback
from planwright.store.migrations import MIGRATIONS
from planwright.store.owners import OwnerLocks, Owners, folder_of, is_held
from planwright.store.store_errors import (
    BROKEN,
    check_readable,
    half_a_character,
    refuse_other,
    store_error,
    store_version,
)
from planwright.store.store_files import RECORDS, read_only
from planwright.store.store_origin import check_origin
from planwright.store.store_time import time_on_record
from planwright.store.time_marks import TimeMark

P = ParamSpec("P")
T = TypeVar("T")


def has_workspace(folder: Path) -> bool:
    """Say whether a folder is a workspace: it has settings, or a store where it is by default."""
    places = (folder / FILE_NAME, folder / StorageSettings().path / RECORDS)
    return any(map(os.path.isfile, places))  # that of another person cannot be looked into, and is none


class StoreReader:
    """The records of a workspace, to read.

    The connection is closed with the last reference to it: a server would keep its session open.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def read(
        self, job: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Do a job that reads. Raises SetupError where a value that it looks for is no valid Unicode."""
        try:
            return job(self._connection, *args, **kwargs)
        except UnicodeEncodeError as error:
            raise half_a_character(error) from error

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def __del__(self) -> None:
        with suppress(sqlite3.Error):
            self.close()


def has_store(settings: Settings) -> bool:
    """Say whether a workspace has any records yet. Raises SetupError where they are gone."""
    if settings.store_url:
        with closing(read_server(settings)) as connection:
            row = connection.execute("SELECT to_regclass('store_version') IS NOT NULL").fetchone()
            return bool(row[0])
    path, folder = _path(settings), settings.store_folder
    if path.is_file():
        return True
    restore = "planwright db check, then: planwright db restore BACKUP"
    if path.exists():
        raise SetupError(f"{path} is no file", restore)
    if (folder / "blobs").is_dir():
        raise SetupError(f"{path} is gone, and there is more of the store beside it", restore)
    return False


def open_store(settings: Settings) -> StoreReader:
    """Open the records. Raises RunError for none, StoreFailed for a broken one, SetupError for a newer."""
    path = _path(settings)
    if not has_store(settings):
        raise no_runs(settings)
    if settings.store_url:
        return StoreReader(read_server(settings, redactor_of(settings)))
    with ExitStack() as undo:
        try:
            connection = undo.enter_context(closing(read_only(path)))
            refuse_other(path, connection, len(MIGRATIONS))
            if not store_version(connection):  # it was never begun: the disk was full, say
                raise no_runs(settings)
            check_origin(connection, path)
            check_readable(connection)
        except BROKEN as error:
            raise store_error(path, error) from error
        undo.pop_all()
    redactor = redactor_of(settings)
    connection.text_factory = lambda text: redactor.document(text.decode())
    connection.row_factory = sqlite3.Row
    return StoreReader(connection)


@contextmanager
def asked_server(settings: Settings, sql: str) -> Iterator[sqlite3.Cursor]:
    """Ask PostgreSQL one statement that a person wrote, in a session that can only read."""
    server = open_store_server(settings.store_url, settings.storage.busy_timeout_s)
    with closing(server.engine.open_checked()) as connection:
        yield server.engine.ask(connection, sql)


def read_server(settings: Settings, redactor: Redactor | None = None) -> sqlite3.Connection:
    """Open the records in PostgreSQL; with a redactor no secret comes out. Raises SetupError, StoreFailed."""
    server = open_store_server(settings.store_url, settings.storage.busy_timeout_s)
    return server.engine.open_checked(redactor)


def interrupted_in(settings: Settings) -> str:
    """Name the runs of a workspace that are interrupted, with a space between their ids."""
    if not (leases := open_store(settings).read(running_leases)):
        return ""
    owners, now = _owners(settings)
    with closing(owners):
        return interrupted_of(leases, lambda lease: is_held(lease.owner, lease.lease_until, owners, now))


def _owners(settings: Settings) -> tuple[OwnerLocks, Callable[[], float]]:
    if not settings.store_url:
        return Owners(folder_of(_path(settings))), time.monotonic
    server = open_store_server(settings.store_url, settings.storage.busy_timeout_s)
    counted_s = open_store(settings).read(time_on_record).counted_s
    return server.owners, lambda: counted_s


def time_of(settings: Settings) -> TimeMark | None:
    """Read what time it is for the store of a workspace; None where it has none yet."""
    return open_store(settings).read(time_on_record) if has_store(settings) else None


def now_of(settings: Settings) -> datetime:
    """Tell what time it is for a workspace, in UTC: by its store, where it has one that can be read."""
    try:
        mark = time_of(settings)
    except (RunError, StoreFailed):  # who needs the store hears of it from there
        mark = None
    return utc_now() if mark is None else mark.now


def setback_of(settings: Settings) -> Setback | None:
    """Compare the store with the mark that this machine has of it; None where it lacks nothing, or is broken.

    Nothing is written. Raises SetupError, StoreFailed for a server that does not answer.
    """
    path = _path(settings)
    try:
        if settings.store_url:
            server = open_store_server(settings.store_url, settings.storage.busy_timeout_s)
            with closing(server.engine.open_checked()) as session:
                return server.mark(settings.store_folder).compare(session).setback
        with closing(read_only(path)) as connection:
            connection.row_factory = sqlite3.Row
            return Mark(folder_of(path)).compare(connection).setback
    except BROKEN:
        return None


@contextmanager
def store_files(settings: Settings) -> Iterator[Path]:
    """Find the folder of the store; one in PostgreSQL is copied, as it is now, for as long as this lasts."""
    if not settings.store_url:
        yield settings.store_folder
        return
    if not has_store(settings):
        raise no_runs(settings)
    with open_store_server(settings.store_url, settings.storage.busy_timeout_s).as_files() as copy:
        yield copy


def refuse_on_server(settings: Settings, instead: str) -> None:
    """Raise SetupError where the store is in PostgreSQL, which does that itself."""
    if settings.store_url:
        raise SetupError(
            "the store is in PostgreSQL (storage.url), which looks after its files itself", instead
        )


def no_runs(settings: Settings) -> RunError:
    """Make the error that says how a first run is begun."""
    return RunError(f"there are no runs in {settings.workspace} yet", 'begin one: planwright run "…"')


def _path(settings: Settings) -> Path:
    return settings.store_folder / "planwright.db"
