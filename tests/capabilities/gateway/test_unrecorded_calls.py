"""A store that fails while a call is recorded: a process that lives is not one that may still send."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from planwright.capabilities.declaration import capability
from planwright.domain.errors import LeaseLost, StoreFailed
from planwright.domain.risk import Effect
from planwright.records.effects.late_calls import UNRECORDED

MakeBench = Callable[..., Awaitable[Any]]
ROW = "SELECT status, owner, error FROM effects"


def rows(bench: Any) -> list[tuple[str, str | None, str | None]]:
    """Read what the ledger has, behind what rides."""
    found: list[tuple[str, str | None, str | None]] = bench.stores.database.call(
        "read", lambda c: [tuple(row) for row in c.execute(ROW)]
    )
    return found


def fail_after_commit(bench: Any, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Commit the jobs of these names, once each, and say that the commit failed: its answer was lost."""
    run, left = bench.stores.database.run, list(names)

    async def losing(name: str, job: Callable[..., Any], **options: Any) -> Any:
        result = await run(name, job, **options)
        if name in left:
            left.remove(name)
            raise StoreFailed("the connection was lost", "see whether the server runs")
        return result

    monkeypatch.setattr(bench.stores.database, "run", losing)


@pytest.mark.parametrize(
    ("effect", "status", "error"), [("blind", "in_doubt", UNRECORDED), ("idempotent", "intent", None)]
)
async def test_a_call_whose_intent_nobody_knows_of_is_given_back(
    make_bench: MakeBench,
    deeds: Any,
    monkeypatch: pytest.MonkeyPatch,
    effect: Effect,
    status: str,
    error: str,
) -> None:
    bench = await make_bench(deeds.declare(mode="local_write", effect=effect))
    fail_after_commit(bench, monkeypatch, "intent")
    with pytest.raises(StoreFailed):
        await bench.call("a.do")
    assert (deeds.calls, rows(bench)) == ([], [(status, None if error is None else owner(bench), error)])


@pytest.mark.parametrize("effect", ["blind", "idempotent"])
async def test_a_call_that_could_not_be_recorded_as_done_is_given_back(
    make_bench: MakeBench, deeds: Any, effect: Effect
) -> None:
    bench = await make_bench(deeds.declare(mode="local_write", effect=effect))
    broken = "CREATE TRIGGER broken BEFORE UPDATE OF result ON effects BEGIN SELECT no_such_function(); END"
    bench.stores.database.call("break", lambda c: c.execute(broken).rowcount)
    with pytest.raises(StoreFailed):
        await bench.call("a.do")
    given_back = [("in_doubt", owner(bench), UNRECORDED)] if effect == "blind" else [("intent", None, None)]
    assert (len(deeds.calls), rows(bench)) == (1, given_back)


async def test_it_is_given_back_also_where_the_store_fails_for_longer(
    make_bench: MakeBench, deeds: Any
) -> None:
    bench = await make_bench(deeds.declare(mode="local_write", effect="blind"))
    database = bench.stores.database
    broken = "CREATE TRIGGER broken BEFORE UPDATE ON effects BEGIN SELECT no_such_function(); END"
    database.call("break", lambda c: c.execute(broken).rowcount)
    with pytest.raises(StoreFailed):
        await bench.call("a.do")
    for _ in range(3):
        with contextlib.suppress(StoreFailed):
            database.call("mend", lambda c: c.execute("SELECT 1").fetchone())
    with contextlib.closing(sqlite3.connect(database.path)) as mended, mended:
        mended.execute("DROP TRIGGER broken")
    assert rows(bench) == [("in_doubt", owner(bench), UNRECORDED)]


async def test_a_call_that_is_under_way_is_not_given_back_by_one_that_lost_its_run(
    make_bench: MakeBench,
) -> None:
    """Its run was taken from this process, which has it again."""
    begun, go_on = asyncio.Event(), asyncio.Event()

    @capability("a.wait", mode="local_write", effect="blind")
    async def wait() -> str:
        """Wait."""
        begun.set()
        await go_on.wait()
        return "waited"

    bench = await make_bench(wait)
    calling = asyncio.create_task(bench.call("a.wait"))
    await begun.wait()
    before = bench.sites["a.wait"]
    lost = type(before.lease)(**{**vars(before.lease), "token": before.lease.token + 1})
    bench.sites["a.wait"] = type(before)(**{**vars(before), "lease": lost})
    with pytest.raises(LeaseLost):
        await bench.call("a.wait")
    assert rows(bench) == [("intent", owner(bench), None)]
    go_on.set()
    assert await calling == "waited"
    assert rows(bench)[0][0] == "done"


def owner(bench: Any) -> str:
    """Name this process."""
    ((name),) = bench.stores.database.call("read", lambda c: c.execute("SELECT owner FROM runs").fetchall())
    return str(name[0])
