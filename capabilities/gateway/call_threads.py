"""The threads that a call hands work to: they are seen until they have ended, for nothing can stop them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeAlias, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
Work: TypeAlias = "Future[Any]"
"""What a call has handed to a thread."""
_AT_WORK: ContextVar[set[Work]] = ContextVar("at_work")


class OwnThread(Executor):
    """Begin each call in a thread of its own, which ends with it.

    Calls that never end would take all threads of the event loop, and with them whatever else waits for one
    there, in any run. A thread costs 25 microseconds more than one that is there already.
    """

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Begin a call, and return its answer."""
        answer = Future[T]()

        def work() -> None:
            if not answer.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except (StopIteration, KeyboardInterrupt) as error:  # a future takes none, a loop ends by one
                answer.set_exception(RuntimeError(f"{type(error).__name__}: {error}"))
            except BaseException as error:  # noqa: BLE001 - whoever waits for the answer gets it
                answer.set_exception(error)
            else:
                answer.set_result(result)

        threading.Thread(target=work, name="capability").start()
        return answer


class SeenThreads(ThreadPoolExecutor):
    """The default threads of an event loop; what a call hands over is seen until it has ended.

    It gets a thread of its own: the limit of a call counts no waiting for those of others.
    """

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Begin some work, and return its answer."""
        if (at_work := _AT_WORK.get(None)) is None:
            return super().submit(fn, *args, **kwargs)
        answer = OwnThread().submit(fn, *args, **kwargs)
        if fn not in (socket.getaddrinfo, socket.getnameinfo):  # by asyncio: nothing is sent by those
            see_until_ended(answer, at_work)
        return answer


def see_until_ended(answer: Work, at_work: set[Work]) -> None:
    at_work.add(answer)
    answer.add_done_callback(at_work.discard)


@contextmanager
def threads_of_call() -> Iterator[set[Work]]:
    """Collect the work in threads that is begun within, also by tasks begun within, and has not ended."""
    at_work: set[Work] = set()
    token = _AT_WORK.set(at_work)
    try:
        yield at_work
    finally:
        _AT_WORK.reset(token)


def end_of(answers: Collection[Work]) -> Future[None]:
    """Make a future that ends with the last of some others."""
    end, left, lock = Future[None](), set(answers), threading.Lock()
    if not left:
        end.set_result(None)

    def ended(answer: Work) -> None:
        with lock:
            left.discard(answer)
            last = not left
        if last:
            end.set_result(None)

    for answer in tuple(left):
        answer.add_done_callback(ended)
    return end
