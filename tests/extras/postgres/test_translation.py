"""Every statement of the program, as PostgreSQL takes it: the server parses it and knows what it names."""

from __future__ import annotations

import re

import psycopg
import pytest

from planwright.extras.postgres.layout import TABLES
from planwright.extras.postgres.server import server_of
from planwright.extras.postgres.translation import translated
from planwright.store.migrations import MIGRATIONS
from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer
from tests.statements import statements


def test_the_server_takes_every_statement_of_the_program(server: PostgresServer, store_url: str) -> None:
    server_of(store_url, MIGRATIONS, PATIENCE_S, None).engine.open().close()
    refused, count = [], 0
    with psycopg.connect(store_url, autocommit=True) as session:
        for module, sql in dict.fromkeys(statements()):
            count += 1
            try:
                session.execute(f"PREPARE statement AS {translated(sql).text}")
                session.execute("DEALLOCATE statement")
            except psycopg.Error as error:
                refused.append((module, str(error).splitlines()[0], " ".join(sql.split())[:160]))
    assert refused == []
    assert count > 150


def test_parameters_that_stand_twice_are_named() -> None:
    """Python 3.12 warns of numbers, as in `?1`, beside a sequence; some of its releases take them."""
    assert [sql for _, sql in statements() if re.search(r"\?\d", sql)] == []


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT a FROM runs WHERE b = ? AND c = ?", "SELECT a FROM runs WHERE b = $1 AND c = $2"),
        ("SELECT ?, '?' FROM runs WHERE b = ?", "SELECT $1, '?' FROM runs WHERE b = $2"),
        ("SELECT a FROM runs WHERE b = :b OR :c = :b", "SELECT a FROM runs WHERE b = $1 OR $2 = $1"),
        ("SELECT 'it''s :b' FROM runs", "SELECT 'it''s :b' FROM runs"),
        ("SELECT a FROM runs WHERE b IS ?", "SELECT a FROM runs WHERE b IS NOT DISTINCT FROM $1"),
        ("SELECT a FROM runs WHERE b IS NOT NULL", "SELECT a FROM runs WHERE b IS NOT NULL"),
        ("INSERT OR IGNORE INTO chains VALUES (?)", "INSERT INTO chains VALUES ($1) ON CONFLICT DO NOTHING"),
        (
            "INSERT OR REPLACE INTO contents (thread_id, hash, type, value) VALUES (?,?,?,?)",
            "INSERT INTO contents (thread_id, hash, type, value) VALUES ($1,$2,$3,$4)"
            " ON CONFLICT (thread_id, hash)"
            " DO UPDATE SET type = excluded.type, value = excluded.value, rowid = DEFAULT",
        ),
    ],
)  # fmt: skip
def test_a_statement_says_the_same(sql: str, expected: str) -> None:
    assert translated(sql).text == expected


def test_parameters_by_name_are_put_in_order() -> None:
    statement = translated("SELECT :b, :a, :b")
    assert statement.ordered({"a": 1, "b": 2}) == [2, 1]
    with pytest.raises(KeyError):
        statement.ordered({"a": 1})


def test_the_tables_are_those_of_the_migrations() -> None:
    assert TABLES["checkpoints"].key == ("thread_id", "checkpoint_ns", "checkpoint_id")
    assert TABLES["runs"].key == ("run_id",)
    assert {"cancelled_by", "paused_for"} <= set(TABLES["runs"].columns)
