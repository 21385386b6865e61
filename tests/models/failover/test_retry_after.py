"""How long a provider asks to be left alone, in every form it may say so."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from planwright.models.failover.retry_after import LONGEST_RETRY_S, retry_after

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
CASES: tuple[tuple[dict[str, str], float], ...] = (
    ({}, 0),
    ({"retry-after": "7"}, 7),
    ({"retry-after": "1.5"}, 1.5),
    ({"retry-after": "0"}, 0),
    ({"retry-after": "-3"}, 0),
    ({"retry-after": "1e12"}, LONGEST_RETRY_S),
    ({"retry-after": "inf"}, LONGEST_RETRY_S),
    ({"retry-after": "nan"}, 0),
    ({"retry-after": "soon"}, 0),
    ({"retry-after": ""}, 0),
    ({"retry-after": "Sat, 21 Nov 2026 12:00:30 GMT"}, 30),
    ({"retry-after": "Saturday, 21-Nov-26 12:00:30 GMT"}, 30),
    ({"retry-after": "Sat, 21 Nov 2026 11:00:00 GMT"}, 0),
    ({"retry-after": "Sat, 21 Nov 2026 14:00:30 +0200"}, 30),
    ({"retry-after": "Sat, 21 Nov 99999 12:00:30 GMT"}, 0),
    ({"retry-after-ms": "250"}, 0.25),
    ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
    ({"retry-after-ms": "later", "retry-after": "9"}, 9),
)


@pytest.mark.parametrize(("headers", "seconds"), CASES, ids=lambda value: str(value))
def test_the_wait_is_read(headers: dict[str, str], seconds: float) -> None:
    assert retry_after(headers, NOW) == seconds
