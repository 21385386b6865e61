"""A process that is stopped in the middle of an effect: what it leaves, and how the run goes on."""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.cli.conftest import Waiting, ask
from tests.cli.desk import Desk, wait_until
from tests.patience import PATIENCE_S
from tests.wire.scripted_server import Reply, ScriptedServer, calls, hangs, says

pytestmark = pytest.mark.enable_socket


@pytest.fixture
def channel() -> Iterator[ScriptedServer]:
    """A team channel that takes the first message without an answer, and every later one with."""
    with ScriptedServer([hangs(), Reply(body='{"message_id": "m1"}')]) as server:
        yield server


@pytest.fixture
def posting(desk: Desk, channel: ScriptedServer) -> Waiting:
    """A message to that channel, waiting for approval."""
    host = channel.base_url.split("/")[2]
    desk.settings(f'[channels.team]\nurl = "http://{host}/hook"\n[egress]\nallow = ["{host}"]\n')
    return ask(desk.folder, "Send hello to the team channel")


@pytest.mark.parametrize(
    "stop", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=["Ctrl-C", "kill", "kill -9"]
)
def test_a_run_stopped_in_the_middle_of_a_post_is_resumed_under_the_same_key(
    desk: Desk, channel: ScriptedServer, posting: Waiting, stop: signal.Signals
) -> None:
    with desk.begin("approve", posting.gate_id) as process:
        assert wait_until(lambda: len(channel.requests) == 1)
        process.send(stop)
        code, said = process.wait(PATIENCE_S), process.stderr
    assert code == (-signal.SIGKILL if stop is signal.SIGKILL else 130)
    assert "Traceback" not in said
    if stop is not signal.SIGKILL:
        assert f"planwright resume {posting.thread_id}" in said
    assert desk.rows("SELECT status FROM effects") == [("intent",)]

    resumed = desk.run("resume", posting.thread_id)
    assert resumed.code == 0
    first, second = (request.headers["idempotency-key"] for request in channel.requests)
    assert first == second
    assert desk.rows("SELECT status, key FROM effects") == [("done", first)]


def test_a_run_whose_process_died_is_interrupted_until_it_is_cancelled_and_resumed(
    desk: Desk, channel: ScriptedServer, posting: Waiting
) -> None:
    with desk.begin("approve", posting.gate_id) as process:
        assert wait_until(lambda: len(channel.requests) == 1)
        assert desk.run("show", posting.thread_id, "--json").json["status"] == "running"
        process.send(signal.SIGKILL)
        process.wait(PATIENCE_S)
    for _ in range(2):
        assert [run["status"] for run in desk.run("ls", "--json").json["runs"]] == ["interrupted"]
        assert f"interrupted: planwright resume {posting.thread_id}" in desk.run("show", "last").stdout
        cancelled = desk.run("cancel", posting.thread_id).stdout
        assert "is to be cancelled" in cancelled
        assert f"planwright resume {posting.thread_id} ends it, and says what you have to decide" in cancelled
    resumed = desk.run("resume", posting.thread_id)
    assert resumed.code == 5
    assert "planwright respond run_" in resumed.stderr
    assert len(channel.requests) == 1


@pytest.mark.long
def test_ctrl_c_while_a_query_waits_ends_the_run_which_can_be_resumed(desk: Desk) -> None:
    query = {"statement": "SELECT name FROM people", "database": "crm.db"}
    with closing(sqlite3.connect(desk.folder / "crm.db", isolation_level=None)) as other:
        other.execute("CREATE TABLE people AS SELECT 'Ada' AS name")
        other.execute("BEGIN EXCLUSIVE")
        with ScriptedServer([calls("sql__query", query), says("It is Ada.")]) as server:
            desk.settings(
                f'[providers.p]\nbase_url = "{server.base_url}"\nmodel = "m"\napi_key = "none"\n'
                '[planning]\nmode = "never"\n'
            )
            with desk.begin("run", "Who is in the database?") as process:
                assert wait_until(lambda: len(server.requests) == 1)
                assert wait_until(lambda: "sql.query" in str(desk.rows("SELECT data FROM journal")))
                process.send(signal.SIGINT)
                code, said = process.wait(PATIENCE_S), process.stderr
            assert code == 130
            assert "Traceback" not in said
            other.execute("COMMIT")
            resumed = desk.run("resume", said.split("planwright resume ")[1].split()[0])
    assert (resumed.code, "Ada" in resumed.stdout) == (0, True)
