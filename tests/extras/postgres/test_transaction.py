"""Statements wait until an answer is needed: how many trips that takes, and whose error is whose."""

from __future__ import annotations

import itertools
import sqlite3
import threading
from collections.abc import Callable
from functools import partial

import pytest

from planwright.domain.errors import LeaseLost, StoreFailed
from planwright.domain.lease import Lease
from planwright.extras.postgres.connection import PostgresConnection
from planwright.extras.postgres.transaction import Result, Transaction
from planwright.extras.postgres.translation import translated
from planwright.store.audit_chain import append, entries
from planwright.store.engines.engine import ask_ahead, require
from planwright.store.fencing import of_run
from planwright.store.queued_job import Beside
from tests.extras.postgres.conftest import Open
from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer
from tests.turned_clock import NOON

pytestmark = pytest.mark.long

ADD = "INSERT INTO own_parts (run_id, tenant, name) VALUES (?, 'acme', ?)"
NAMES = "SELECT name FROM own_parts WHERE run_id = ? ORDER BY rowid"
RUN = (
    "INSERT INTO runs (run_id, thread_id, tenant, status, request, messages, context, started_at,"
    " lease_token) VALUES (?, ?, 'acme', 'running', '', '[]', '{}', '', ?)"
)


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many statements went with each message to the server."""
    counts: list[int] = []
    deliver = PostgresConnection._deliver

    def counted(self: PostgresConnection, sent: list[object]) -> None:
        counts.append(len(sent))
        deliver(self, sent)  # type: ignore[arg-type]

    monkeypatch.setattr(PostgresConnection, "_deliver", counted)
    return counts


def add(name: str, run: str = "run_1") -> Callable[[sqlite3.Connection], None]:
    def job(connection: sqlite3.Connection) -> None:
        connection.execute(ADD, (run, name))

    return job


def names(connection: sqlite3.Connection, run: str = "run_1") -> list[str]:
    return [row[0] for row in connection.execute(NAMES, (run,))]


@pytest.mark.parametrize(
    ("statements", "sent"),
    [
        ("SELECT 1", "BEGIN, SELECT 1"),
        ("SAVEPOINT job, SELECT 1, RELEASE job, INSERT 2", "BEGIN, SELECT 1, INSERT 2"),
        ("INSERT 1, SAVEPOINT job, INSERT 2, ROLLBACK TO job", "BEGIN, INSERT 1"),
        (
            "INSERT 1, SAVEPOINT job, INSERT 2, ?, SELECT 3",
            "BEGIN, INSERT 1, SAVEPOINT job, INSERT 2 | SELECT 3",
        ),
        (
            "SAVEPOINT job, INSERT 1, ?, INSERT 2, ROLLBACK TO job",
            "BEGIN, SAVEPOINT job, INSERT 1 | ROLLBACK TO job",
        ),
        ("SAVEPOINT job, SELECT 1, ?, INSERT 2, ROLLBACK TO job", "BEGIN, SELECT 1 | "),
        ("SAVEPOINT job, INSERT 1, ?, RELEASE job", "BEGIN, SAVEPOINT job, INSERT 1 | RELEASE job"),
    ],
)
def test_a_savepoint_is_made_where_a_job_asks_after_it_has_written(statements: str, sent: str) -> None:
    transaction, messages = Transaction(["BEGIN"], writes=True, one_by_one=False), list[list[Result]]()
    controls: dict[str, Callable[[], object]] = {
        "SAVEPOINT job": transaction.begin_job,
        "RELEASE job": transaction.end_job,
        "ROLLBACK TO job": transaction.undo_job,
        "?": lambda: messages.append(transaction.take()),
    }
    for text in statements.split(", "):
        add_it = partial(transaction.add, Result(translated(text), [()], lambda: None))
        controls.get(text, add_it)()
    messages.append(transaction.take())
    assert " | ".join(", ".join(one.statement.text for one in message) for message in messages) == sent


def test_what_nobody_looks_at_goes_with_the_commit(opened: Open, trips: list[int]) -> None:
    database = opened()
    database.call("add", lambda c: [add(name)(c) for name in "abc"])
    assert trips == [6]  # BEGIN, the lock, three rows, COMMIT
    trips.clear()
    assert database.look(names) == ["a", "b", "c"]
    assert trips == [2]  # BEGIN with the first statement; the end of a read is not awaited


def test_what_is_asked_ahead_is_answered_at_once_unless_something_was_written(
    opened: Open, trips: list[int]
) -> None:
    database = opened()
    database.call("add", add("a"))
    questions = [(NAMES, (run,)) for run in ("run_1", "run_2")]
    trips.clear()

    def job(connection: sqlite3.Connection) -> list[list[str]]:
        ask_ahead(connection, *questions)
        before = [names(connection), names(connection, "run_2")]
        ask_ahead(connection, *questions)
        add("b")(connection)
        return [*before, names(connection)]

    assert database.call("add", job) == [["a"], [], ["a", "b"]]
    assert len(trips) == 3  # both questions, the last one behind the row, COMMIT


def test_a_refused_statement_is_the_error_of_its_own_job(opened: Open) -> None:
    database, begun, done = opened(), threading.Event(), list[str]()
    database.call("add", add("a"))
    database.submit("hold", lambda _: begun.wait(PATIENCE_S))

    def job(connection: sqlite3.Connection, name: str) -> None:
        done.append(name)
        add(name)(connection)

    good, twice, last = (database.submit("add", partial(job, name=name)) for name in ("b", "a", "c"))
    begun.set()
    assert isinstance(twice.exception(), StoreFailed)
    assert (good.result(), last.result()) == (None, None)
    assert database.look(names) == ["a", "b", "c"]
    assert done == ["b", "a", "c", "b", "a", "c"]  # all once more, one statement after the other


def test_a_job_that_fails_after_a_look_takes_back_what_it_wrote_before_it(opened: Open) -> None:
    database, begun = opened(), threading.Event()
    database.submit("hold", lambda _: begun.wait(PATIENCE_S))

    def job(connection: sqlite3.Connection) -> None:
        add("b")(connection)
        assert names(connection) == ["a", "b"]
        add("c")(connection)
        raise ZeroDivisionError

    good, bad, last = (database.submit("add", one) for one in (add("a"), job, add("d")))
    begun.set()
    assert isinstance(bad.exception(), ZeroDivisionError)
    assert (good.result(), last.result()) == (None, None)
    assert database.look(names) == ["a", "d"]


def test_a_lease_that_is_another_s_fails_its_job_alone(opened: Open) -> None:
    database, begun = opened(), threading.Event()
    for number in (1, 2):
        database.call("run", lambda c, n=number: c.execute(RUN, (f"run_{n}", f"t{n}", n)))  # type: ignore[misc]
    mine, lost = (Lease("acme", f"t{n}", f"run_{n}", 1, "me") for n in (1, 2))
    database.submit("hold", lambda _: begun.wait(PATIENCE_S))
    good = database.submit("add", of_run(mine, add("a")))
    bad = database.submit("add", of_run(lost, add("b", "run_2")))
    begun.set()
    assert good.result() is None
    assert isinstance(bad.exception(), LeaseLost)
    assert database.look(lambda c: (names(c), names(c, "run_2"))) == (["a"], [])


def test_a_lease_that_is_lost_within_a_transaction_fences_what_comes_behind_it(opened: Open) -> None:
    database, begun = opened(), threading.Event()
    database.call("run", lambda c: c.execute(RUN, ("run_1", "t1", 1)))
    mine = Lease("acme", "t1", "run_1", 1, "me")
    database.submit("hold", lambda _: begun.wait(PATIENCE_S))
    before = database.submit("add", of_run(mine, add("a")))
    database.submit("lease", lambda c: c.execute("UPDATE runs SET lease_token = 2 WHERE run_id = 'run_1'"))
    behind = database.submit("add", of_run(mine, add("b")))
    begun.set()
    assert before.result() is None
    assert isinstance(behind.exception(), LeaseLost)
    assert database.look(names) == ["a"]


def test_a_condition_that_does_not_hold_is_told_in_the_words_of_its_job(opened: Open) -> None:
    database = opened()
    job = partial(require, condition="EXISTS (SELECT 1 FROM runs WHERE run_id = ?)", parameters=("run_9",))
    with pytest.raises(ZeroDivisionError):
        database.call("add", lambda c: job(c, refusal=ZeroDivisionError))


def test_jobs_of_runs_go_on_beside_each_other_and_who_takes_a_run_waits_for_them(
    opened: Open, server: PostgresServer
) -> None:
    first, second, third = opened(), opened(), opened()
    begun, ends = threading.Event(), threading.Event()

    def hold(connection: sqlite3.Connection) -> None:
        add("a")(connection)
        assert names(connection) == ["a"]
        begun.set()
        ends.wait(PATIENCE_S)

    held = first.submit("hold", Beside(hold))
    assert begun.wait(PATIENCE_S)
    second.call("add", Beside(add("b", "run_2")))  # it does not wait
    taking = third.submit("lease", names)
    server.wait_for_waiter()
    ends.set()
    held.result()
    assert taking.result() == ["a"]


def test_entries_of_the_chain_that_are_written_beside_each_other_have_no_gap(opened: Open) -> None:
    databases = [opened() for _ in range(4)]

    def entry(connection: sqlite3.Connection) -> None:
        append(connection, "run", ("acme", "run_1"), "run_1", {}, NOON)

    waiting = [database.submit("entry", Beside(entry)) for _ in range(25) for database in databases]
    for future in waiting:
        future.result()
    chain = databases[0].look(lambda c: [*entries(c)])
    assert [one.n for one in chain] == [*range(1, 101)]
    assert all(later.prev_hash == one.hash for one, later in itertools.pairwise(chain))
    assert all(one.hash == one.own_hash for one in chain)
