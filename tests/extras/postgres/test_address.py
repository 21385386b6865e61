"""The address of a store: a name of a schema is taken whole, or refused, so that no two stores become one."""

from __future__ import annotations

from contextlib import closing

import pytest

from planwright.domain.errors import SetupError
from planwright.extras.postgres.address import SCHEMA, read_address
from planwright.extras.postgres.server import server_of
from planwright.store.migrations import MIGRATIONS
from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer

pytestmark = pytest.mark.long

URL = "postgresql://planwright@db.example/planwright"
NAMES = ("team-a", "team-b", "TeamA", "teama", "user", "2024")


@pytest.mark.parametrize(
    "spelled", ["-csearch_path%3D{}", "-c%20search_path%3D{}", "-csearch_path%3D%22{}%22"]
)
@pytest.mark.parametrize("name", [*NAMES, "a_b", "x" * 63])
def test_a_schema_is_named_as_it_is_written(spelled: str, name: str) -> None:
    address = read_address(f"{URL}?options={spelled.format(name)}")
    assert (address.schema, f"({name})" in address.label) == (name, True)


@pytest.mark.parametrize("url", [URL, f"{URL}?options=", f"{URL}?sslmode=require"])
def test_an_address_that_names_no_schema_has_the_usual_one(url: str) -> None:
    assert read_address(url).schema == SCHEMA


@pytest.mark.parametrize(
    "options",
    [
        "--search_path%3Dteam",
        "-csearch_path%3Dteam,public",
        "-csearch_path%3Dteam%20-cwork_mem%3D1MB",
        "-cstatement_timeout%3D5000",
        "-csearch_path%3D",
        "-csearch_path%3D%22team",
        "-csearch_path%3Dte%22am",
        "-csearch_path%3Dt%C3%A9am",
        "-csearch_path%3D%24user",
        f"-csearch_path%3D{'x' * 64}",
    ],
)
def test_options_that_would_be_left_out_are_refused(options: str) -> None:
    with pytest.raises(SetupError, match="one schema") as refused:
        read_address(f"{URL}?options={options}")
    assert "?options=-csearch_path%3DNAME" in refused.value.next_step


def test_stores_whose_names_are_alike_are_other_stores(own_server: PostgresServer) -> None:
    for count, name in enumerate(NAMES, 1):
        with closing(server_of(own_server.url(name), MIGRATIONS, PATIENCE_S, None).engine.open()) as session:
            session.execute("INSERT INTO own_parts (run_id, tenant, name) VALUES ('run_1', 'acme', 'a')")
            assert session.execute("SELECT count(*) FROM own_parts").fetchone()[0] == 1
        with own_server.connect() as connection:
            query = "SELECT count(*) FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid"
            row = connection.execute(f"{query} WHERE relname = 'runs' AND nspname = ANY(%s)", [list(NAMES)])
            assert row.fetchone() == (count,)
