"""The child: it does one job after the other, each under limits of its own, until whoever started it is gone.

CPU is limited by a timer that ends the process (setitimer(2), ITIMER_PROF), memory by RLIMIT_AS, which
makes an allocation fail (setrlimit(2)). Nothing heavy is imported before the first job.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

from planwright.domain.errors import PlanwrightError

CPU_S, MEMORY = 1.2, 80_000_000  # what surrounds a job adds to it; in all it is 2 s and 100 MB
_STATM = Path("/proc/self/statm")  # proc(5); there is none on macOS, which does not limit address space


def run_jobs() -> None:
    """Do jobs that come in by a pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever waits
    connection, size = Connection(int(sys.argv[1])), _address_space()
    with contextlib.suppress(EOFError, OSError):
        while True:
            name, args = connection.recv()
            answer = _answer(name, args)
            connection.send((*answer, _address_space() < size + MEMORY))


@contextlib.contextmanager
def to_the_end() -> Iterator[None]:
    """Let no limit of CPU break off what stands in the block, because half of it would be worse."""
    left, _ = signal.setitimer(signal.ITIMER_PROF, 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, left)


def _answer(name: str, args: tuple[object, ...]) -> tuple[str, object]:
    """Do one job, and say how it ended and what it returned."""
    try:
        job = _job(name)
        with _limits():
            return "done", job(*args)
    except MemoryError:
        gc.collect()
        return "memory", None
    except RecursionError:
        return "levels", None
    except PlanwrightError as error:
        return "refused", (type(error), error.cause, error.next_step)
    except BaseException as error:  # noqa: BLE001 - a panic of a Rust library is none of Exception
        return "failed", f"{type(error).__name__}: {error}"[:1000]


def _job(name: str) -> Callable[..., object]:
    module, _, function = name.partition(":")
    job: Callable[..., object] = getattr(importlib.import_module(module), function)
    return job


@contextlib.contextmanager
def _limits() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_AS)
    if size := _address_space():
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, before[1]))
    signal.setitimer(signal.ITIMER_PROF, CPU_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, before)


def _address_space() -> int:
    """Read how much memory the process has mapped, in bytes; 0 where the system does not say."""
    try:
        return int(_STATM.read_text().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


if __name__ == "__main__":
    run_jobs()
