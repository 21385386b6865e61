"""A thread that does small things again and again, whatever the event loops are busy with."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_LOG = logging.getLogger("planwright.checkpoints")
Beat = Callable[[], bool]
"""What is done at every beat; says whether it is to be done again."""


@dataclass
class _Entry:
    interval_s: float
    """Seconds between two beats."""
    beat: Beat
    """Makes one beat; says whether another is to follow."""
    due: float = field(default=0.0)
    """When the next one is due, on the monotonic clock in seconds."""


class Heartbeat:
    """Beats by key, each at its own interval, on one thread that lives while there are any."""

    def __init__(self) -> None:
        self._entries: dict[Any, _Entry] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, key: object, interval_s: float, beat: Beat) -> None:
        """Do something every `interval_s` seconds, from one interval on."""
        with self._changed:
            self._entries[key] = _Entry(interval_s, beat, time.monotonic() + interval_s)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
                self._thread.start()
            self._changed.notify()

    def remove(self, key: object) -> None:
        """Stop doing it; what is being done at the moment is finished."""
        with self._changed:
            self._entries.pop(key, None)
            self._changed.notify()

    def close(self) -> None:
        """Stop everything, and wait for what is being done."""
        with self._changed:
            self._entries.clear()
            thread = self._thread
            self._changed.notify()
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                while (wait := self._next_due()) is not None and wait > 0:
                    self._changed.wait(wait)
                if wait is None:
                    self._thread = None
                    return
                now = time.monotonic()
                due = [(key, entry) for key, entry in self._entries.items() if entry.due <= now]
            for key, entry in due:
                again = _beaten(key, entry.beat)
                with self._changed:
                    if not again and self._entries.get(key) is entry:
                        del self._entries[key]
                    entry.due = time.monotonic() + entry.interval_s

    def _next_due(self) -> float | None:
        """Say in how many seconds the next beat is due; None when there is none."""
        if not self._entries:
            return None
        return min(entry.due for entry in self._entries.values()) - time.monotonic()


def _beaten(key: object, beat: Beat) -> bool:
    """Make a beat; one that breaks is made again, and the others go on."""
    try:
        return beat()
    except Exception:  # noqa: BLE001 - whatever it is, no other lease may be lost for it
        _LOG.exception("the beat for %s broke", key)
        return True
