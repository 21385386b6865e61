"""One call of a capability's function: timed, and nothing that it returns or raises is taken on trust."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import socket
import threading
import traceback
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from typing import Any, ParamSpec, TypeAlias, TypeVar

from pydantic import JsonValue, ValidationError

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.signature import error_summary
from planwright.checkpoints.serde import storable
from planwright.domain.errors import (
    BrokeOff,
    CapabilityError,
    CapabilityRejected,
    CapabilityUnavailable,
    EffectInDoubt,
    RunStopped,
    StillUnderWay,
)

P = ParamSpec("P")
T = TypeVar("T")
UNCERTAIN = ("queryable", "blind")  # what must not be done again for want of an answer
Leave = Callable[[Future[None]], None]
"""Takes the end of a blocking call that nobody waits for any more."""
Work: TypeAlias = "Future[Any]"
"""What a call has handed to a thread."""
_AT_WORK: ContextVar[set[Work]] = ContextVar("at_work")
PATIENCE = 2  # how many times its timeout a blocking call that is late is waited for


class _Late(TimeoutError):
    """A call took longer than we allow; any other TimeoutError is what the function says itself."""


def leave_alone(end: Future[None]) -> None:
    """Do nothing about a call that goes on."""


async def invoke(
    capability: Capability,
    args: dict[str, JsonValue],
    context: CallContext,
    timeout_s: float,
    left_running: Leave = leave_alone,
) -> JsonValue:
    """Call the function once and check what it returns.

    Raises CapabilityUnavailable or CapabilityRejected when nothing has happened, or when it does no harm
    to do it again. Else it is EffectInDoubt; StillUnderWay where a blocking function goes on, so that not
    even a lookup can tell yet: then `left_running` gets its end.
    """
    own = capability.args.model_validate(deepcopy(args))  # what the function changes is not sent again
    keywords: dict[str, object] = dict(iter(own))  # one may be named `keys`
    if capability.context_parameter:
        keywords[capability.context_parameter] = context
    try:
        if inspect.iscoroutinefunction(capability.function):
            result = await _awaited(capability, keywords, timeout_s, left_running)
        else:
            result = await _in_thread(capability, keywords, timeout_s, left_running)
    except TimeoutError as error:
        raise _too_late(capability, error, timeout_s) from error
    except (CapabilityRejected, CapabilityUnavailable, EffectInDoubt, RunStopped):
        raise
    except asyncio.CancelledError as error:
        if (task := asyncio.current_task()) is None or task.cancelling():
            raise  # it is we who are cancelled, not the function that says so
        raise _broke_off(capability, error) from error
    except KeyboardInterrupt as error:
        if threading.current_thread() is threading.main_thread():
            raise  # Ctrl-C
        raise _broke_off(capability, error) from error
    except (Exception, SystemExit) as error:  # a user's function may raise anything; it is final
        raise _broke_off(capability, error) from error
    try:
        dumped: JsonValue = capability.result.dump_python(
            capability.result.validate_python(result), mode="json"
        )
        storable(dumped)
    except ValidationError as error:
        raise _useless(capability, f"what it does not declare: {error_summary(error)}") from error
    except (ValueError, TypeError, RecursionError) as error:
        raise _useless(capability, f"what cannot be stored: {error}") from error
    return dumped


class _OwnThread(Executor):
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


async def _awaited(
    capability: Capability, keywords: dict[str, object], timeout_s: float, left_running: Leave
) -> object:
    """Await an async function. What it handed to threads goes on where it is cancelled, or breaks off.

    Raises TimeoutError when it takes too long, StillUnderWay where such work goes on and that matters.
    """
    limit = asyncio.timeout(timeout_s)
    with threads_of_call() as at_work:
        try:
            async with limit:
                return await capability.function(**keywords)
        except BaseException as error:
            runs_on: tuple[Work, ...] = ()
            try:
                late = tuple(at_work) if isinstance(error, TimeoutError) else ()
                if late and capability.effect == "queryable":
                    await asyncio.wait({*map(asyncio.wrap_future, late)}, timeout=PATIENCE * timeout_s)
            finally:
                if capability.effect in UNCERTAIN and (runs_on := tuple(at_work)):
                    left_running(end_of(runs_on))
            if runs_on and isinstance(error, Exception):
                raise StillUnderWay(f"{capability.name} has stopped, and still runs in a thread") from error
            if isinstance(error, TimeoutError) and limit.expired():
                raise _Late from error
            raise


async def _in_thread(
    capability: Capability, keywords: dict[str, object], timeout_s: float, left_running: Leave
) -> object:
    """Call a blocking function. Nothing can stop it, and until it ends nobody can tell what it will do.

    Raises TimeoutError when it takes too long, StillUnderWay where that matters, and CapabilityUnavailable
    when it has not begun, and never will.
    """
    context, end, taken = contextvars.copy_context(), Future[None](), threading.Lock()

    def call() -> object:
        if not taken.acquire(blocking=False):
            return None  # nobody waits for it any more
        try:
            return context.run(capability.function, **keywords)
        finally:
            end.set_result(None)

    loop = asyncio.get_running_loop()
    thread = loop.run_in_executor(_OwnThread(), call)  # a task would let SystemExit through
    try:
        await asyncio.wait({thread}, timeout=timeout_s)
        if not thread.done() and capability.effect == "queryable":
            await asyncio.wait({thread}, timeout=PATIENCE * timeout_s)
        if thread.done():
            return thread.result()
    finally:
        answered, dropped = thread.done(), taken.acquire(blocking=False)
        thread.cancel()  # lets it be, or takes it out of the queue
        if runs_on := not (answered or dropped) and capability.effect in UNCERTAIN:
            left_running(end)
    if dropped:
        raise CapabilityUnavailable(f"{capability.name} could not begin within {timeout_s:g} s")
    if runs_on:
        raise StillUnderWay(f"{capability.name} did not answer within {timeout_s:g} s, and still runs")
    raise _Late


def _too_late(capability: Capability, error: TimeoutError, timeout_s: float) -> CapabilityError:
    late = f"{capability.name} timed out by itself: {_words_of(error)}"
    if isinstance(error, _Late):
        late = f"{capability.name} did not answer within {timeout_s:g} s"
    return EffectInDoubt(late) if capability.effect in UNCERTAIN else CapabilityUnavailable(late)


def _broke_off(capability: Capability, error: BaseException) -> CapabilityError:
    cause = f"{type(error).__name__}: {_words_of(error)}"
    if capability.effect in UNCERTAIN:
        return EffectInDoubt(f"{capability.name} broke off: {cause}", if_not=CapabilityRejected)
    return BrokeOff(f"{capability.name} failed: {cause}")


def _words_of(error: BaseException) -> str:
    """Spell what a user's error says, even where it fails to: it has to be written down."""
    line = "".join(traceback.format_exception_only(error)).strip()
    return line.partition(": ")[2].encode("utf-8", "replace").decode()


def _useless(capability: Capability, problem: str) -> CapabilityError:
    if capability.effect in UNCERTAIN:
        return EffectInDoubt(
            f"{capability.name} was called, and returned {problem}", if_not=CapabilityRejected
        )
    return BrokeOff(f"{capability.name} returned {problem}")


class SeenThreads(ThreadPoolExecutor):
    """The default threads of an event loop; what a call hands to them is seen until it has ended."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Begin some work, and return its answer."""
        answer = super().submit(fn, *args, **kwargs)
        looks_up = fn in (socket.getaddrinfo, socket.getnameinfo)  # by asyncio: nothing is sent by that
        at_work = None if looks_up else _AT_WORK.get(None)
        if at_work is not None:
            at_work.add(answer)
            answer.add_done_callback(at_work.discard)
        return answer


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
