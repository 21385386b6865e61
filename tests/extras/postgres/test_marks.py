"""A server that went back: a standby that was behind, a base backup, a dump; and what other machines hear."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from planwright.domain.errors import SetupError, StoreWentBack
from planwright.extras.postgres.server import server_of
from planwright.records.audit.verification import verify_chain
from planwright.records.runs import Run
from planwright.store.migrations import MIGRATIONS
from tests.cli.desk import wait_until
from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer, new_folder, programs
from tests.store.marks.conftest import NOW, Past, effect_call
from tests.store.marks.test_mark import accept, lacking

pytestmark = pytest.mark.long


@pytest.fixture
def past(store_url: str, tmp_path: Path, make_run: Callable[..., Run]) -> Past:
    """A store in a server, and one machine that has begun and ended an effect in it."""
    store = Past(tmp_path / "one", make_run(), store_url)
    store.begin("anna")
    return store


@pytest.fixture
def own_past(own_server: PostgresServer, tmp_path: Path, make_run: Callable[..., Run]) -> Past:
    """The same in a server that the test may end."""
    store = Past(tmp_path / "one", make_run(), own_server.url())
    store.begin("anna")
    return store


@pytest.fixture
def copy(own_server: PostgresServer, own_past: Past) -> Iterator[PostgresServer]:
    """A standby that has all that is there now, and hears of nothing that comes later."""
    folder = new_folder()
    own_server.take_copy(folder, standby=True)
    standby = PostgresServer.of_copy(folder)
    standby.catch_up(own_server)
    standby.kill()
    yield standby
    standby.remove()


def shown(server: PostgresServer, setting: str) -> str:
    """Read a setting as new sessions have it."""
    with server.connect() as connection:
        row = connection.execute("SELECT current_setting(%s)", (setting,)).fetchone()
        return str(row and row[0])


def followers(server: PostgresServer) -> int:
    """Count the standbys that are connected."""
    with server.connect() as connection:
        row = connection.execute("SELECT count(*) FROM pg_stat_replication").fetchone()
        return int(row[0]) if row else 0


def test_a_standby_that_was_behind_begins_nothing(own_past: Past, copy: PostgresServer) -> None:
    own_past.begin("ben", "carl")
    copy.promote_alone()
    promoted = replace(own_past, url=copy.url())
    with pytest.raises(StoreWentBack, match="2 effects that were begun"):
        promoted.begin("dora")
    with promoted.opened() as records:
        count = asyncio.run(
            records.database.read(lambda c: c.execute("SELECT count(*) FROM runs").fetchone())
        )
        assert count[0] == 1  # what it has can be read
        id_, steps = lacking(records)
        assert steps == ["step_ben", "step_carl"]
        assert accept(records, id_) == steps
    assert [known.status for known in promoted.begin("ben", "dora")] == ["in_doubt", "intent"]
    with promoted.opened() as records:
        assert records.database.look(verify_chain)[0] == []


def test_a_standby_that_has_all_goes_on(own_past: Past, copy: PostgresServer) -> None:
    copy.promote_alone()
    assert replace(own_past, url=copy.url()).begin("ben")[0].fresh


def test_a_process_that_lives_notices_at_its_next_effect(
    own_server: PostgresServer, own_past: Past, copy: PostgresServer
) -> None:
    with own_past.opened() as records:
        lease = asyncio.run(records.leases.take(own_past.run, 60))
        asyncio.run(records.ledger.intend(effect_call(lease, "ben"), NOW))
        own_server.stop()
        (own_server.folder / "data").rename(own_server.folder / "lost")
        (copy.folder / "data").rename(own_server.folder / "data")
        (own_server.folder / "data" / "standby.signal").unlink()
        own_server.again()
        taken = asyncio.run(
            records.leases.take(own_past.run, 60)
        )  # nothing was begun since, as far as it knows
        with pytest.raises(StoreWentBack, match="1 effect that was begun"):
            asyncio.run(records.ledger.intend(effect_call(taken, "carl"), NOW))
        rows = records.database.look(lambda c: c.execute("SELECT step_uid FROM effects").fetchall())
        assert [row[0] for row in rows] == ["step_anna"]


def test_what_one_machine_lacks_stops_all(own_past: Past, copy: PostgresServer, tmp_path: Path) -> None:
    other = replace(own_past, folder=tmp_path / "other")
    assert not other.begin("anna")[0].fresh
    own_past.begin("ben")
    copy.promote_alone()
    one, two = replace(own_past, url=copy.url()), replace(other, url=copy.url())
    assert two.begin("carl")[0].fresh  # this machine has seen nothing that is lacking
    with pytest.raises(StoreWentBack):
        one.begin("dora")
    with pytest.raises(StoreWentBack):
        two.begin("dora")
    with two.opened() as records:
        id_, steps = lacking(records)
        assert accept(records, id_) == steps == ["step_ben"]
    assert [past.begin("dora")[0].fresh for past in (one, two)] == [True, False]


def test_a_dump_that_is_put_back_is_noticed(past: Past, server: PostgresServer) -> None:
    binaries, schema = programs(), past.url.rpartition("%3D")[2]
    assert binaries is not None
    common = ["-h", str(server.folder), "-p", str(server.port), "-U", "postgres"]
    dump = [str(binaries / "pg_dump"), *common, "-n", schema, "planwright"]
    text = subprocess.run(dump, check=True, capture_output=True, timeout=PATIENCE_S).stdout
    past.begin("ben")
    with server.connect() as connection:
        connection.execute(f"DROP SCHEMA {schema} CASCADE")
    load = [str(binaries / "psql"), *common, "-q", "planwright"]
    subprocess.run(load, input=text, check=True, capture_output=True, timeout=PATIENCE_S)
    with pytest.raises(StoreWentBack, match="1 effect that was begun"):
        past.begin("carl")


def test_stores_of_one_workspace_have_marks_of_their_own(past: Past, server: PostgresServer) -> None:
    other = replace(past, url=server.url("another_store"))
    try:
        assert other.begin("ben")[0].fresh
        assert past.begin("carl")[0].fresh
        assert len(list(past.mark.parent.glob("begun-*"))) == 2
    finally:
        with server.connect() as connection:
            connection.execute("DROP SCHEMA another_store CASCADE")


def test_a_standby_that_commits_do_not_wait_for_is_told_of(
    own_server: PostgresServer, own_past: Past
) -> None:
    served = server_of(own_past.url, MIGRATIONS, PATIENCE_S, None)
    assert served.check_standbys() == "there is none"
    folder = new_folder()
    own_server.take_copy(folder, standby=True)
    standby = PostgresServer.of_copy(folder)
    try:
        assert wait_until(lambda: followers(own_server) == 1)
        with pytest.raises(SetupError, match="commits wait for none: one that is promoted may lack effects"):
            served.check_standbys()
        with own_server.connect() as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")
        assert wait_until(lambda: shown(own_server, "synchronous_standby_names") == "*")
        assert served.check_standbys() == "commits wait for *"
        for value, words in (("local", "commits wait for none"), ("off", "synchronous_commit is off")):
            with own_server.connect() as connection:
                connection.execute(f"ALTER DATABASE planwright SET synchronous_commit = {value}")
            with pytest.raises(SetupError, match=words):
                served.check_standbys()
    finally:
        standby.remove()
