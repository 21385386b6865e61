"""The parts of a store that are others in PostgreSQL. Nothing of it is loaded where no URL is set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from planwright.domain.errors import SetupError
from planwright.domain.plugins import how_to_install
from planwright.security.redaction.redactor import Redactor
from planwright.store.marks.mark import Mark
from planwright.store.owners import folder_of

_WAITS = """SELECT current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
    count(*) FROM pg_stat_replication"""

if TYPE_CHECKING:
    from planwright.extras.postgres.engine import PostgresEngine
    from planwright.extras.postgres.owners import PostgresOwners
    from planwright.store.blobs import Blobs
    from planwright.store.database import Database


@dataclass(frozen=True)
class Server:
    """One schema of one database, by the parts that `open_records` puts together."""

    engine: PostgresEngine
    """Opens its connections."""
    owners: PostgresOwners
    """Knows who holds runs in it, and what time it is there."""
    blobs: Callable[[Database], Blobs]
    """Makes the table of large contents."""

    def mark(self, folder: Path) -> Mark:
        """Name the mark that this machine has of the store, in the folder of a workspace."""
        return Mark(folder_of(folder / "planwright.db"), self.engine.store_id)

    def check_standbys(self) -> str:
        """Say what a commit waits for. Raises SetupError where a standby may lack what was committed."""
        with closing(self.engine.open_checked()) as session:
            commits, names, count = session.execute(_WAITS).fetchone()
        if commits == "off":
            cause = "synchronous_commit is off: what was begun may be lost when the server is killed"
            raise SetupError(cause, "ALTER ROLE … SET synchronous_commit = on")
        waits = names if commits != "local" else ""
        if count and not waits:
            cause = f"{count} standby{'s' * (count != 1)}, and commits wait for none"
            step = "let them wait: synchronous_standby_names, and synchronous_commit = on"
            raise SetupError(f"{cause}: one that is promoted may lack effects that were begun", step)
        return f"commits wait for {waits}" if waits else "there is none"

    def copy_here(self, folder: Path, check_unused: Callable[[], None]) -> tuple[dict[str, int], int]:
        """Copy the store of a folder into this one, as `copy_to_server` does."""
        from planwright.extras.postgres.copying import copy_to_server

        return copy_to_server(folder, self.engine, check_unused)

    @contextmanager
    def as_files(self) -> Iterator[Path]:
        """Copy the store, as it is at one moment, into a private folder that lasts as long as this.

        What looks a store over reads files. Raises StoreFailed, SetupError.
        """
        from planwright.extras.postgres.copying import copied_from_server

        self.engine.open_checked().close()
        with copied_from_server(self.engine) as folder:
            yield folder


def server_of(
    url: str, migrations: tuple[str, ...], busy_timeout_s: float, redactor: Redactor | None
) -> Server:
    """Name the parts for a URL; nothing is opened yet. Raises SetupError where the extra is missing."""
    try:  # psycopg takes long to load, and only who sets storage.url needs it
        from planwright.extras.postgres.address import read_address
        from planwright.extras.postgres.blobs import PostgresBlobs
        from planwright.extras.postgres.engine import PostgresEngine
        from planwright.extras.postgres.owners import PostgresOwners
    except ImportError as error:
        cause = f"storage.url needs the extra `postgres`: {error}"
        raise SetupError(cause, how_to_install("postgres")) from error
    engine = PostgresEngine(read_address(url), migrations, busy_timeout_s, redactor)
    owners = PostgresOwners(engine)
    engine.life_of = owners.life_of
    return Server(engine, owners, lambda database: PostgresBlobs(database, redactor))
