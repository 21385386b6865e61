"""A record that stays as it is is read once, however many ask for it."""

from __future__ import annotations

import asyncio

import pytest

from planwright.domain.errors import RunError
from planwright.store.reader import MOST_READ_ONCE, ReadOnce


class Records:
    """Records that are read slowly; `missing` ones cannot be read."""

    def __init__(self) -> None:
        self.reads: list[int] = []
        self.missing: set[int] = set()

    async def read(self, key: int) -> str:
        """Read a record, and note it."""
        self.reads.append(key)
        await asyncio.sleep(0)
        if key in self.missing:
            raise RunError(f"there is no record {key}", "write it")
        return f"record {key}"


async def test_all_that_ask_at_once_share_one_read() -> None:
    records = Records()
    once = ReadOnce(records.read)
    assert set(await asyncio.gather(*(once.get(1) for _ in range(20)))) == {"record 1"}
    assert await once.get(1) == "record 1"
    assert records.reads == [1]


async def test_what_could_not_be_read_is_read_anew() -> None:
    records = Records()
    records.missing = {1}
    once = ReadOnce(records.read)
    with pytest.raises(RunError):
        await once.get(1)
    records.missing.clear()
    assert (await once.get(1), records.reads) == ("record 1", [1, 1])


async def test_one_who_is_cancelled_takes_the_record_from_nobody() -> None:
    records = Records()
    once = ReadOnce(records.read)
    first, second = asyncio.ensure_future(once.get(1)), asyncio.ensure_future(once.get(1))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second, records.reads) == ("record 1", [1])


async def test_a_record_that_is_forgotten_and_the_oldest_of_many_are_read_anew() -> None:
    records = Records()
    once = ReadOnce(records.read)
    for key in [0, *range(1, MOST_READ_ONCE + 1), MOST_READ_ONCE, 0]:
        await once.get(key)
    once.forget(MOST_READ_ONCE)
    await once.get(MOST_READ_ONCE)
    assert records.reads == [*range(MOST_READ_ONCE + 1), 0, MOST_READ_ONCE]
