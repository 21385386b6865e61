"""The command line with PostgreSQL as the store: a run to its end, and looking after the store."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from planwright.extras.postgres.server import server_of
from planwright.store.migrations import MIGRATIONS
from tests.cli.desk import Desk, refusal
from tests.postgres_server import PASSWORD, PostgresServer

pytestmark = pytest.mark.long

REQUEST = "Create a ticket titled 'Broken lamp'"
DONE_BY_THE_SERVER = {
    ("backup", "b.tar"): "pg_dump",
    ("restore", "b.tar"): "pg_restore",
    ("vacuum",): "autovacuum",
}


@pytest.fixture
def store(desk: Desk, server: PostgresServer, store_url: str) -> str:
    """Let the workspace keep its runs in PostgreSQL; the address has a password in it."""
    url = store_url.replace("postgres@", f"postgres:{PASSWORD}@")
    desk.settings(f'[storage]\nurl = "{url}"\n')
    return url


def test_a_run_goes_from_request_to_answer_in_three_processes(desk: Desk, store: str) -> None:
    asked = desk.run("run", "--no-input", REQUEST)
    assert asked.code == 3, asked.stderr
    assert "waiting" in desk.run("ls").stdout
    approved = desk.run("approve", "last", "--no-input")
    assert approved.code == 0, approved.stderr
    newest = "SELECT title FROM tickets ORDER BY id DESC LIMIT 1"
    assert desk.rows(newest, "tickets.db") == [("Broken lamp",)]
    for command in (("replay", "last"), ("audit", "verify"), ("db", "check"), ("show", "last")):
        assert desk.run(*command).code == 0, command
    assert desk.run("db", "prune", "--keep", "1", "--json").json["removed"] > 0
    assert desk.run("db", "check").code == 0
    assert not (desk.folder / ".planwright" / "planwright.db").exists()


@pytest.mark.parametrize(
    "command",
    [("ls",), ("show", "last"), ("sessions", "ls"), ("memory", "ls"), ("usage",), ("db", "prune")]
    + [("audit", "verify"), ("approve",)],
)
def test_a_database_without_a_store_is_as_a_folder_without_one(
    desk: Desk, store: str, server: PostgresServer, command: tuple[str, ...]
) -> None:
    there = desk.run(*command)
    desk.settings("")
    here = desk.run(*command)
    assert (there.code, there.stdout) == (here.code, here.stdout)
    assert "Traceback" not in there.stderr
    schema = store.rpartition("%3D")[2]
    with server.connect() as connection:  # to read makes nothing
        assert connection.execute("SELECT to_regnamespace(%s)", [schema]).fetchone() == (None,)


def test_no_command_shows_the_password(desk: Desk, store: str) -> None:
    desk.run("run", "--no-input", REQUEST)
    for command in (
        ("config",),
        ("config", "--json"),
        ("doctor",),
        ("db", "tables"),
        ("show", "last", "--json"),
    ):
        outcome = desk.run(*command)
        assert PASSWORD not in outcome.stdout + outcome.stderr, command
    desk.settings(f'[storage]\nurl = "{store.replace("/planwright?", "/nowhere?")}"\n')
    for command in (("ls",), ("doctor",), ("run", "--no-input", REQUEST)):
        outcome = desk.run(*command)
        assert "createdb nowhere" in outcome.stdout + outcome.stderr, command
        assert PASSWORD not in outcome.stdout + outcome.stderr, command
    desk.settings(f'[storage]\nurl = "postgres:{PASSWORD}@localhost"\n')
    outcome = desk.run("ls")
    assert (outcome.code, PASSWORD in outcome.stdout + outcome.stderr) == (2, False)


def test_what_the_server_does_itself_is_refused_in_words(desk: Desk, store: str) -> None:
    (desk.folder / "b.tar").touch()
    for command, word in DONE_BY_THE_SERVER.items():
        assert word in refusal(desk.run("db", *command)), command


def test_the_tables_are_read_and_not_changed(desk: Desk, store: str) -> None:
    desk.run("run", "--no-input", REQUEST)
    assert "waiting" in desk.run("db", "query", "SELECT status, count(*) FROM runs GROUP BY status").stdout
    for sql in (
        "DELETE FROM runs",
        "SELECT 1; DELETE FROM runs",
        "WITH x AS (DELETE FROM runs RETURNING 1) SELECT 1",
    ):
        assert desk.run("db", "query", sql).code == 2, sql
    assert desk.run("db", "query", "SELECT count(*) FROM runs", "--csv").stdout.splitlines()[1] == "1"
    assert desk.run("db", "export", "runs", "runs.csv").code == 0
    assert len((desk.folder / "runs.csv").read_text().splitlines()) == 2


def test_a_store_is_copied_with_its_open_gate_and_goes_on_there(
    desk: Desk, server: PostgresServer, store_url: str
) -> None:
    assert desk.run("run", "--no-input", REQUEST).code == 3
    copied = desk.run("db", "migrate", "--to", store_url)
    assert (copied.code, "blobs" in copied.stdout) == (0, True)
    assert "there are rows of runs in it already" in refusal(desk.run("db", "migrate", "--to", store_url))
    desk.settings(f'[storage]\nurl = "{store_url}"\n')
    assert desk.run("approve", "last", "--no-input").code == 0
    for command in (("replay", "last"), ("audit", "verify"), ("db", "check")):
        assert desk.run(*command).code == 0, command
    assert Path(desk.folder, ".planwright", "planwright.db").exists()


def test_rows_are_copied_as_they_are_also_where_a_secret_is_known_by_now(
    desk: Desk, server: PostgresServer, store_url: str
) -> None:
    """A row that is another one there would no longer be what its seal, or a decision, was made over."""
    assert desk.run("run", "--no-input", REQUEST).code == 3
    secret = {
        "PLANWRIGHT_PROVIDERS__X__BASE_URL": "http://127.0.0.1:1/v1",
        "PLANWRIGHT_PROVIDERS__X__MODEL": "m",
        "PLANWRIGHT_PROVIDERS__X__API_KEY": "Broken lamp",
    }
    copied = desk.run("db", "migrate", "--to", store_url, env=secret)
    assert copied.code == 0, copied.stderr
    desk.settings(f'[storage]\nurl = "{store_url}"\n')
    for command in (("db", "check"), ("audit", "verify"), ("approve", "last", "--no-input")):
        outcome = desk.run(*command)
        assert outcome.code == 0, outcome.printed
    assert desk.rows("SELECT title FROM tickets ORDER BY id DESC LIMIT 1", "tickets.db") == [("Broken lamp",)]


def test_a_store_that_has_no_runs_and_is_used_is_not_copied_over(
    desk: Desk, server: PostgresServer, store_url: str
) -> None:
    assert desk.run("run", "--no-input", REQUEST).code == 3
    with closing(server_of(store_url, MIGRATIONS, 30, None).engine.open()) as session:
        session.execute(
            "INSERT INTO memories (id, tenant, run_id, text, tags, created_at)"
            " VALUES ('m', 'default', 'r', 'the only copy', '[]', '2026')"
        )
    assert "there are rows of memories in it already" in refusal(desk.run("db", "migrate", "--to", store_url))
    with closing(server_of(store_url, MIGRATIONS, 30, None).engine.open()) as session:
        assert session.execute("SELECT text FROM memories").fetchone()[0] == "the only copy"
