"""`pytest --postgres`: the same tests, with PostgreSQL as the store, each in a schema of its own.

Without it only what asks for the fixture `server` needs one. `@pytest.mark.sqlite` is for a test that is
about the files of SQLite.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tests.opened_store import URL
from tests.postgres_server import MISSING, PostgresServer, programs

_NUMBERS = itertools.count()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--postgres`."""
    parser.addoption("--postgres", action="store_true", help="run the tests with PostgreSQL as the store")


def pytest_configure(config: pytest.Config) -> None:
    """Say what the marker means."""
    config.addinivalue_line("markers", "sqlite: is about files of SQLite, and left out with --postgres")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what is about files, where there are none."""
    if config.getoption("postgres"):
        left_out = [item for item in items if item.get_closest_marker("sqlite") is not None]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    """A server of PostgreSQL, for all tests of one worker."""
    if programs() is None:
        pytest.skip(MISSING)
    started = PostgresServer.start()
    yield started
    started.remove()


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server for one test alone, which may end it."""
    if programs() is None:
        pytest.skip(MISSING)
    started = PostgresServer.start()
    yield started
    started.remove()


@pytest.fixture
def store_url(server: PostgresServer) -> Iterator[str]:
    """The address of a store that nobody has used; it is removed after the test."""
    schema = f"store_{next(_NUMBERS)}"
    yield server.url(schema)
    with server.connect() as connection:
        connection.execute("SET lock_timeout = '5s'")
        connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


@pytest.fixture(autouse=True)
def _on_postgres(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.config.getoption("postgres"):
        monkeypatch.setenv(URL, request.getfixturevalue("store_url"))
