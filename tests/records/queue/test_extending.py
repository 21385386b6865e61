"""What may be given to a run beyond its limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from planwright.domain.errors import SetupError
from planwright.domain.lease import Lease
from planwright.records.queue.queue import Term
from planwright.records.runs import Run
from planwright.records.stores import Stores

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("amounts", "cause"),
    [
        ({"tokns": 50_000}, "nothing to extend called 'tokns'"),
        ({"tokens": -1}, "tokens: -1 is no amount"),
        ({"tokens": "x"}, "tokens: 'x' is no amount"),
        ({"ttl_s": math.inf}, "ttl_s: a number of that size is no amount"),
        ({"ttl_s": math.nan}, "ttl_s: nan is no amount"),
        ({"ttl_s": 1e12}, "ttl_s: a number of that size is no amount"),
        ({"tool_calls": -(10**5000)}, "tool_calls: a number of that size is no amount"),
        ({"tool_calls": 10**5000}, "tool_calls: a number of that size is no amount"),
        ({"tokens": 0.5}, "tokens: 0.5 is no amount"),
        ({"effects": True}, "effects: True is no amount"),
        ({}, "nothing is said to be given"),
    ],
)
async def test_what_is_no_amount_extends_nothing(
    stores: Stores, lease: Lease, amounts: Any, cause: str
) -> None:
    with pytest.raises(SetupError, match=cause):
        await stores.sessions.extend(lease.run_id, amounts, "ada")
    assert stores.database.call("read", lambda c: c.execute("SELECT * FROM extensions").fetchall()) == []


async def test_a_session_is_put_off_by_ten_years_at_most(
    stores: Stores, make_run: Callable[..., Run]
) -> None:
    run = make_run("run_1", "thread_1").model_copy(update={"status": "queued"})
    await stores.queue.add(run, Term(3600), [], {}, 100)
    amounts: Any = {"ttl_s": 6 * 365 * 86_400}
    await stores.sessions.extend(run.run_id, amounts, "ada")
    with pytest.raises(SetupError, match="a session ends within ten years"):
        await stores.sessions.extend(run.run_id, amounts, "ada")
    count = "SELECT count(*) FROM extensions"
    assert stores.database.call("read", lambda c: c.execute(count).fetchone()[0]) == 1
