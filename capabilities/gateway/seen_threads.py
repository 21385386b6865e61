"""Threads that an async call hands work to: whoever cancels the call does not stop them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_AT_WORK: ContextVar[set[Future[Any]]] = ContextVar("at_work")


class SeenThreads(ThreadPoolExecutor):
    """The default threads of an event loop; what a call hands to them is seen until it has ended."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Begin some work, and return its answer."""
        answer = super().submit(fn, *args, **kwargs)
        if (at_work := _AT_WORK.get(None)) is not None:
            at_work.add(answer)
            answer.add_done_callback(at_work.discard)
        return answer


def see_threads(loop: asyncio.AbstractEventLoop) -> None:
    """Let the default threads of an event loop be seen, unless its owner has chosen some.

    asyncio does not say publicly whether it has any: with a loop of another make nothing is seen.
    """
    if getattr(loop, "_default_executor", loop) is None:
        loop.set_default_executor(SeenThreads(thread_name_prefix="asyncio"))


@contextmanager
def threads_of_call() -> Iterator[set[Future[Any]]]:
    """Collect the work in threads that is begun within, also by tasks begun within, and has not ended."""
    at_work: set[Future[Any]] = set()
    token = _AT_WORK.set(at_work)
    try:
        yield at_work
    finally:
        _AT_WORK.reset(token)


def end_of(answers: Collection[Future[Any]]) -> Future[None]:
    """Make a future that ends with the last of some others."""
    end, left, lock = Future[None](), set(answers), threading.Lock()

    def ended(answer: Future[Any]) -> None:
        with lock:
            left.discard(answer)
            last = not left
        if last:
            end.set_result(None)

    for answer in tuple(answers):
        answer.add_done_callback(ended)
    return end
