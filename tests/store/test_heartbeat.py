"""The heartbeat: what beats goes on, whatever becomes of the others."""

from __future__ import annotations

import threading

from planwright.store.heartbeat import Heartbeat
from tests.patience import PATIENCE_S


def test_a_beat_that_breaks_is_made_again_and_the_others_go_on() -> None:
    heartbeat, broken, beaten = Heartbeat(), threading.Semaphore(0), threading.Semaphore(0)

    def breaks() -> bool:
        broken.release()
        raise RuntimeError("set changed size during iteration")

    def beats() -> bool:
        beaten.release()
        return True

    heartbeat.add("breaks", 0.01, breaks)
    heartbeat.add("beats", 0.01, beats)
    try:
        assert all(broken.acquire(timeout=PATIENCE_S) for _ in range(2))
        assert all(beaten.acquire(timeout=PATIENCE_S) for _ in range(2))
    finally:
        heartbeat.close()
