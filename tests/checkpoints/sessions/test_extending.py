"""What may be given to a run beyond its limits."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import pytest

from planwright.checkpoints.stores import Stores
from planwright.domain.errors import SetupError
from planwright.domain.lease import Lease

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
        await stores.sessions.extend(lease.run_id, amounts, "ada", NOW)
    assert stores.database.call("read", lambda c: c.execute("SELECT * FROM extensions").fetchall()) == []
