"""A role of PostgreSQL that may not write one table: its run stops, others do not, and it goes on later."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from planwright.domain.errors import StoreFailed
from planwright.graph.agent import Agent
from tests.opened_store import URL
from tests.postgres_server import PostgresServer
from tests.scenarios.conftest import Scene


class Clerk:
    """A role that owns its store, and whose rights are taken away."""

    def __init__(self, server: PostgresServer, schema: str) -> None:
        self._server, self._schema = server, schema

    def may(self, verb: str, right: str) -> None:
        """Grant or revoke a right on a table of the store."""
        with self._server.connect() as connection:
            word = "TO" if verb == "GRANT" else "FROM"
            connection.execute(f"{verb} {right.replace('ON ', f'ON {self._schema}.')} {word} clerk")


@pytest.fixture
def clerk(server: PostgresServer, store_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clerk]:
    """The role that the store is opened by."""
    with server.connect() as connection:
        connection.execute("CREATE ROLE clerk LOGIN; GRANT CREATE ON DATABASE planwright TO clerk")
    monkeypatch.setenv(URL, store_url.replace("postgres@", "clerk@"))
    yield Clerk(server, store_url.rpartition("%3D")[2])
    with server.connect() as connection:
        connection.execute("DROP OWNED BY clerk CASCADE; DROP ROLE clerk")


@pytest.fixture
def agent(scene: Scene, clerk: Clerk) -> Agent:
    """An agent whose store is there already."""
    plan = scene.plan(scene.step("s1", "work.transfer"))
    opened = scene.agent(plan, "the answer", "another answer", approval={"plan": "never"})
    opened.stores.database.call("open", lambda _: None)
    return opened


RIGHTS = [
    "INSERT ON verdicts",
    "INSERT ON steps",
    "UPDATE ON effects",
    "INSERT ON audit",
    "INSERT ON threads",
]


@pytest.mark.parametrize("right", RIGHTS)
def test_the_run_stops_and_goes_on_once_the_right_is_back(
    scene: Scene, agent: Agent, clerk: Clerk, right: str
) -> None:
    clerk.may("REVOKE", right)
    table = right.rpartition(" ")[2]
    with pytest.raises(
        StoreFailed, match=f"refuses a statement: permission denied for table {table}"
    ) as stopped:
        scene.ask(agent)
    assert f"planwright resume {scene.thread}" in stopped.value.next_step
    (run,) = scene.rows("SELECT status, paused_for FROM runs")
    assert run == {"status": "paused", "paused_for": "storage"}
    clerk.may("GRANT", right)
    assert scene.recover(agent)["status"] == "completed"
    assert [line for line in scene.done if not line.startswith("looked")] == ["s1"]
    assert len(scene.rows("SELECT 1 FROM verdicts")) == 1
