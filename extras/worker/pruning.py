"""Once a day a worker removes the checkpoints that settings keep no longer (`storage.keep_days`)."""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime

from planwright.domain.errors import StoreFailed
from planwright.records.stores import Stores
from planwright.settings.workspace import StorageSettings
from planwright.upkeep.prune import Retention, prune_in_use

EVERY_S = 86_400.0
_LOG = logging.getLogger("planwright.sessions")


class Pruning:
    """Prunes a store beside what its worker is at: threads whose runs are open or held stay as they are."""

    def __init__(self, stores: Stores, storage: StorageSettings) -> None:
        self._stores = stores
        self._storage = storage
        self._due_s = 0.0
        self._task: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Begin, where a day has gone by since it last began, or it never has; nobody waits for it."""
        mark, at_work = self._stores.time.mark, self._task is not None and not self._task.done()
        if at_work or mark.counted_s < self._due_s or not self._storage.keeps_for_days:
            return
        self._due_s = mark.counted_s + EVERY_S
        self._task = asyncio.create_task(self._prune(mark.earliest), name="prune")
        self._task.add_done_callback(_log_failure)

    async def stop(self) -> None:
        """Stop after the thread that it is at."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _prune(self, now: datetime) -> None:
        try:
            gone = await prune_in_use(self._stores.database, Retention(self._storage, now))
        except StoreFailed as error:
            _LOG.error("the store failed, it is pruned tomorrow: %s", error.cause)
        else:
            _LOG.info("%d checkpoints were removed that storage.keep_days keeps no longer", gone)


def _log_failure(task: asyncio.Task[None]) -> None:
    """Log a bug in pruning: nobody waits for it."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _LOG.error("pruning broke off", exc_info=error)
