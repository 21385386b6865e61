"""Records that stay as they are, read once by whoever asks first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from planwright.domain.errors import PlanwrightError

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MOST = 64


class ReadOnce(Generic[K, V]):
    """Read each record once; who asks meanwhile waits for that.

    Of more than `MOST` records the oldest is forgotten.
    """

    def __init__(self, read: Callable[[K], Awaitable[V]]) -> None:
        self._read = read
        self._records: dict[K, asyncio.Future[V]] = {}

    async def get(self, key: K) -> V:
        """Return a record. Raises what its reading does; whoever asks next reads it anew."""
        if key not in self._records:
            while len(self._records) >= MOST:
                del self._records[next(iter(self._records))]
            self._records[key] = asyncio.ensure_future(self._read(key))
        try:
            return await asyncio.shield(self._records[key])
        except PlanwrightError:
            self.forget(key)
            raise

    def forget(self, key: K) -> None:
        """Let the next who asks read it anew."""
        self._records.pop(key, None)
