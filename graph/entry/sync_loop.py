"""Where a stream is worked on: in a task of its own; for callers without an event loop, on a loop of ours.

`invoke` and `stream` run the async graph here, so there is one implementation of everything.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from typing import Any, TypeVar

from planwright.capabilities.gateway.call_threads import SeenThreads

T = TypeVar("T")
_END = object()
PATIENCE_S, BRIEFLY_S = 30, 2


async def in_own_task(stream: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """Iterate a stream in a task of its own, item by item as its reader asks for them.

    However often the reader is cancelled, and wherever it stops to read, the stream is cancelled once, and
    has ended before the reader goes on. LangGraph leaves steps running when it is cancelled again while it
    waits for their end (1.2, `AsyncPregelLoop.__aexit__`), as AnyIO does it: effects were made for nobody.
    """
    wanted, items = asyncio.Semaphore(0), asyncio.Queue[tuple[T] | None]()

    async def work() -> None:
        try:
            async with aclosing(stream):
                await wanted.acquire()
                async for item in stream:
                    items.put_nowait((item,))
                    await wanted.acquire()
        finally:
            items.put_nowait(None)

    task = asyncio.create_task(work())
    try:
        wanted.release()
        while (item := await items.get()) is not None:
            yield item[0]
            wanted.release()
    finally:
        task.cancel()
        await _end_of(task)
    task.result()


async def _end_of(task: asyncio.Task[None]) -> None:
    """Wait for the end of a task, also while being cancelled; then be cancelled."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if not task.cancelled():
        task.exception()  # whoever is cancelled does not ask for it
    if cancelled is not None:
        raise cancelled


def see_threads(loop: asyncio.AbstractEventLoop) -> None:
    """Let the default threads of an event loop be seen, unless its owner has chosen some.

    asyncio does not say publicly whether it has any: with a loop of another make nothing is seen.
    """
    threads = getattr(loop, "_default_executor", loop)
    if threads is None:
        loop.set_default_executor(SeenThreads(thread_name_prefix="asyncio"))
    elif type(threads) is ThreadPoolExecutor:  # asyncio's own: something was handed to a thread before
        threads.__class__ = SeenThreads


class BackgroundLoop:
    """An event loop that starts on first use and ends when it is closed, or with the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._workers: ThreadPoolExecutor | None = None

    def iterate(self, make: Callable[[], AsyncIterator[T]]) -> Iterator[T]:
        """Iterate an async iterator from a thread without a loop; the caller's contextvars go along.

        Closing the iterator early cancels the work behind it and waits for its end, 30 s at most.
        """
        if threading.current_thread() is self._thread:
            raise RuntimeError("this would wait for itself: an async capability awaits ainvoke, or astream")
        items: queue.SimpleQueue[Any] = queue.SimpleQueue()

        async def pump() -> None:
            try:
                async for item in make():
                    items.put((item, None))
                items.put((_END, None))
            except BaseException as error:  # noqa: BLE001 - handed to the calling thread
                items.put((_END, error))

        task = self._start(pump())
        try:
            while True:
                item, error = items.get()
                if error is not None:
                    raise error
                if item is _END:
                    return
                yield item
        finally:
            self._stop(task)

    def call(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine from a thread without a loop and return what it returns."""

        async def once() -> AsyncIterator[T]:
            yield await make()

        (result,) = self.iterate(once)
        return result

    def close(self) -> None:
        """End the loop and its threads. A function that still runs in one of them is not waited for.

        Where a call does not heed that it is cancelled, the loop runs on with it, until the process ends.
        """
        with self._lock:
            loop, self._loop = self._loop, None
            thread, workers = self._thread, self._workers
        if loop is None or thread is None or workers is None:
            return
        if not asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result():
            return
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=PATIENCE_S)
        workers.shutdown(wait=False, cancel_futures=True)
        loop.close()

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        loop, context = self._running(), contextvars.copy_context()
        started: queue.SimpleQueue[asyncio.Task[None]] = queue.SimpleQueue()
        loop.call_soon_threadsafe(lambda: started.put(loop.create_task(work, context=context)))
        return started.get()

    def _stop(self, task: asyncio.Task[None]) -> None:
        if task.done():
            return
        ended = threading.Event()
        loop = task.get_loop()

        def cancel() -> None:
            task.add_done_callback(lambda _: ended.set())
            task.cancel()

        loop.call_soon_threadsafe(cancel)
        ended.wait(timeout=PATIENCE_S)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._workers = SeenThreads(thread_name_prefix="planwright")
                self._loop.set_default_executor(self._workers)
                self._thread = threading.Thread(
                    target=self._serve, args=(self._loop,), name="planwright", daemon=True
                )
                self._thread.start()
            return self._loop

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run the loop until it is closed: a function that stops it, or raises Ctrl-C, stops no other run."""
        while self._loop is loop:
            with suppress(KeyboardInterrupt, SystemExit):
                loop.run_forever()


async def _cancel_all() -> bool:
    """Cancel what is left on this loop and let it end; say whether all of it has ended."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    cancelled_before = {task for task in left if task.cancelling()}
    for task in left:
        task.cancel()
    for tasks, patience_s in ((left - cancelled_before, PATIENCE_S), (cancelled_before, BRIEFLY_S)):
        ending = asyncio.gather(*tasks, return_exceptions=True)
        if tasks and not (await asyncio.wait({ending}, timeout=patience_s))[0]:
            return False
    await asyncio.get_running_loop().shutdown_asyncgens()
    return True
