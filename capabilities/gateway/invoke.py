"""One call of a capability's function: timed, and nothing that it returns or raises is taken on trust."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import itertools
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import replace

from langchain_core.runnables.config import var_child_runnable_config
from langgraph.errors import GraphInterrupt, is_invalid_resume
from pydantic import JsonValue, ValidationError

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.encoding import ANY_RESULT, MOST_RESULT, aread_out, as_json, read_out
from planwright.capabilities.gateway.call_threads import (
    OwnThread,
    Work,
    end_of,
    see_until_ended,
    threads_of_call,
)
from planwright.capabilities.result_notes import add_note
from planwright.capabilities.signature import error_summary
from planwright.checkpoints.serde import storable
from planwright.domain.clock import AttendedTimeout
from planwright.domain.errors import (
    BrokeOff,
    CapabilityError,
    CapabilityRejected,
    CapabilityUnavailable,
    EffectInDoubt,
    OverLimit,
    RunStopped,
    StillUnderWay,
    Unanswered,
)
from planwright.records.consent.call_question import CallAsks
from planwright.security.egress.unreachable import may_pass
from planwright.security.reply_size import outgrows

UNCERTAIN = ("queryable", "blind")  # what must not be done again for want of an answer
Leave = Callable[[Future[None]], None]
"""Takes the end of a blocking call that nobody waits for any more."""
MOST_LETTERS = 100_000  # of an error that are looked at; fewer are kept, once no secret is in them
# Keys that `langgraph.types.interrupt` reads. It has no public way to be given its answers in advance.
_SCRATCHPAD, _SEND = "__pregel_scratchpad", "__pregel_send"
CLEAN_UP_S = 2  # until a call that was cancelled has to have ended
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
    """Call the function once, and spell what it returns as JSON.

    An effect that returned is done, whatever it returned. Raises CapabilityUnavailable or CapabilityRejected
    when nothing has happened, or when it does no harm to do it again. Else it is EffectInDoubt; StillUnderWay
    where a blocking function goes on, so not even a lookup can tell yet: `left_running` gets its end.
    CallAsks comes of one that asks a person by LangGraph's `interrupt()`.
    """
    own = capability.args.model_validate(deepcopy(args))  # what the function changes is not sent again
    keywords: dict[str, object] = dict(iter(own))  # one may be named `keys`
    if capability.context_parameter:
        keywords[capability.context_parameter] = context
    try:
        with _with_answers(context.answers):
            if inspect.iscoroutinefunction(capability.function):
                return await _awaited(capability, keywords, timeout_s, left_running)
            return await _in_thread(capability, keywords, timeout_s, left_running)
    except GraphInterrupt as interrupted:
        raise _question(capability, interrupted) from None
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
        if is_invalid_resume(error):
            raise CallAsks(capability.name, None, refused=_words_of(error)) from error
        raise _broke_off(capability, error) from error


@contextmanager
def _with_answers(answers: Sequence[JsonValue]) -> Iterator[None]:
    """Let each `interrupt()` of a function return the next answer, and raise GraphInterrupt behind the last.

    The answers to the graph around the call are not for it. A graph that the function runs keeps its own
    earlier answers: it gets the newest alone, as in LangGraph.
    """
    config = var_child_runnable_config.get()
    keys = (config or {}).get("configurable", {})
    if config is None or _SCRATCHPAD not in keys:
        yield  # outside of a graph: `interrupt()` says so itself
        return
    known = len(answers) - (bool(answers) and answers[-1] is not None)  # `interrupt` takes None for no answer
    newest = list(answers[known:])

    def next_answer(consume: bool = False) -> JsonValue:
        return (newest.pop() if consume else newest[0]) if newest else None

    scratchpad = replace(
        keys[_SCRATCHPAD],
        resume=list(answers[:known]),
        interrupt_counter=itertools.count().__next__,
        get_null_resume=next_answer,
    )
    own = {**keys, _SCRATCHPAD: scratchpad, _SEND: lambda _writes: None}
    token = var_child_runnable_config.set({**config, "configurable": own})
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def _question(capability: Capability, interrupted: GraphInterrupt) -> CallAsks:
    """Read what a function asks."""
    first = next(iter(interrupted.args[0]), None) if interrupted.args else None
    question = as_json(getattr(first, "value", None))
    schema = as_json(getattr(first, "response_schema", None))
    return CallAsks(capability.name, question, schema if isinstance(schema, dict) else None)


async def _awaited(
    capability: Capability, keywords: dict[str, object], timeout_s: float, left_running: Leave
) -> JsonValue:
    """Await an async function. What it handed to threads goes on where it is cancelled, or breaks off.

    So does a function that does not heed that it is cancelled. Raises TimeoutError when it takes too long,
    StillUnderWay where something goes on and that matters.
    """
    with threads_of_call() as at_work:
        answer = Future[JsonValue]()
        task = asyncio.ensure_future(_put(answer, capability, keywords))
        try:
            await _ended(task, answer, timeout_s)
            return answer.result()
        except BaseException as error:
            runs_on: tuple[Work, ...] = ()
            try:
                if not task.done():
                    see_until_ended(answer, at_work)
                late = tuple(at_work) if isinstance(error, TimeoutError) else ()
                if late and capability.effect == "queryable":
                    await asyncio.wait({*map(asyncio.wrap_future, late)}, timeout=PATIENCE * timeout_s)
            finally:
                if capability.effect in UNCERTAIN and (runs_on := tuple(at_work)):
                    left_running(end_of(runs_on))
            if runs_on and isinstance(error, Exception):
                where = " in a thread" if task.done() else ""
                how = f"did not answer within {timeout_s:g} s" if isinstance(error, _Late) else "has stopped"
                raise StillUnderWay(f"{capability.name} {how}, and still runs{where}") from error
            raise


async def _put(answer: Future[JsonValue], capability: Capability, keywords: dict[str, object]) -> None:
    """Keep how a call ends; a task that ended by SystemExit would end the event loop."""
    try:
        answer.set_result(_recordable(capability, await aread_out(capability.function(**keywords))))
    except BaseException as error:  # noqa: BLE001 - whoever waits for the answer gets it
        answer.set_exception(error)


async def _ended(task: asyncio.Task[None], answer: Future[JsonValue], timeout_s: float) -> None:
    """Wait for the answer of a task; it is cancelled where that takes too long, or whoever waits is."""
    try:
        async with AttendedTimeout(timeout_s):
            await asyncio.wait({task})
    except (TimeoutError, asyncio.CancelledError) as error:
        task.cancel()
        await asyncio.wait({task}, timeout=CLEAN_UP_S)
        if not answer.done() or isinstance(answer.exception(), asyncio.CancelledError):
            raise _Late if isinstance(error, TimeoutError) else error  # noqa: B904 - it is the same end


async def _in_thread(
    capability: Capability, keywords: dict[str, object], timeout_s: float, left_running: Leave
) -> JsonValue:
    """Call a blocking function. Nothing can stop it, and until it ends nobody can tell what it will do.

    Raises TimeoutError when it takes too long, StillUnderWay where that matters, and CapabilityUnavailable
    when it has not begun, and never will.
    """
    context, end, taken = contextvars.copy_context(), Future[None](), threading.Lock()

    def answer() -> JsonValue:
        return _recordable(capability, read_out(capability.function(**keywords)))

    def call() -> JsonValue:
        if not taken.acquire(blocking=False):
            return None  # nobody waits for it any more
        try:
            return context.run(answer)
        finally:
            end.set_result(None)

    loop = asyncio.get_running_loop()
    thread = loop.run_in_executor(OwnThread(), call)  # a task would let SystemExit through
    try:
        with suppress(TimeoutError):
            async with AttendedTimeout(timeout_s):
                await asyncio.wait({thread})
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
    return EffectInDoubt(late) if capability.effect in UNCERTAIN else Unanswered(late)


def _broke_off(capability: Capability, error: BaseException) -> CapabilityError:
    cause, passes = f"{type(error).__name__}: {_words_of(error)}", may_pass(error)
    if capability.effect in UNCERTAIN:
        if_not = CapabilityUnavailable if passes else CapabilityRejected
        return EffectInDoubt(f"{capability.name} broke off: {cause}", if_not=if_not)
    return (Unanswered if passes else BrokeOff)(f"{capability.name} failed: {cause}")


def _words_of(error: BaseException) -> str:
    """Spell what a user's error says, even where it fails to: it has to be written down."""
    line = "".join(traceback.format_exception_only(error))[:MOST_LETTERS].strip()
    return line.partition(": ")[2].encode("utf-8", "replace").decode()


def _recordable(capability: Capability, result: object) -> JsonValue:
    """Spell a result as JSON. Raises OverLimit for one of a read that is too large, or too deep."""
    try:
        if outgrows(result, MOST_RESULT):
            return _not_kept(capability, f"more than {MOST_RESULT // 1_000_000} MB")
        spelled = as_json(_declared(capability, result))
        storable(spelled)
    except OverLimit:
        return _not_kept(capability, f"more than {MOST_RESULT // 1_000_000} MB")
    except RecursionError:
        return _not_kept(capability, "what is nested too deeply")
    return spelled


def _declared(capability: Capability, result: object) -> object:
    """Spell a result as its type says; what is no such thing stays as it is, with a note beside it."""
    if capability.result is ANY_RESULT:
        return result
    try:
        return capability.result.dump_python(capability.result.validate_python(result), mode="json")
    except ValidationError as error:
        problem = error_summary(error)
    except (ValueError, TypeError) as error:  # such as bytes that are no text
        problem = _words_of(error)
    add_note(f"{capability.name} returned what it does not declare: {problem}")
    return result


def _not_kept(capability: Capability, problem: str) -> JsonValue:
    """Say in the place of a result why it is not kept. Raises OverLimit where nothing else was done."""
    cause = f"{capability.name} returned {problem}"
    if capability.effect == "pure":
        raise OverLimit(cause, "let it return less, or write to a file and return its name")
    return {"not_kept": f"{cause}: it was done, and what it returned is not on record"}
