"""The attempts at one call: made again where that does no harm, looked up where it can be."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass

from pydantic import JsonValue, ValidationError

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.gateway.invoke import invoke
from planwright.capabilities.gateway.redact import redacted
from planwright.capabilities.signature import error_summary
from planwright.domain.errors import (
    BrokeOff,
    CallCancelled,
    CapabilityError,
    CapabilityRejected,
    CapabilityUnavailable,
    EffectInDoubt,
    PlanwrightError,
    RunStopped,
    StillUnderWay,
    Unanswered,
)
from planwright.settings.execution import ExecutionSettings


def ignore_reuse(key: str, uid: str) -> None:
    """Do nothing when an earlier effect counts."""


def go_on() -> None:
    """Let a call be sent."""


async def permitted() -> None:
    """Permit that a call is sent once more."""


@dataclass(frozen=True)
class CallListener:
    """What the caller does about the events between a call and its result."""

    may_retry: Callable[[int, str, str], bool]
    """Takes the number of a failed attempt, its cause and the key; says whether another may follow."""
    looked_up: Callable[[int, str, str, str], None]
    """Takes the number of a lookup, `found`, `absent` or `unknown`, why, and the key."""
    reused: Callable[[str, str], None] = ignore_reuse
    """Takes the key of an earlier effect that counts, and the uid of its step; nothing is called then."""
    check_turn: Callable[[], None] = go_on
    """Called when it is the turn of a call that has waited; raises what keeps it from being sent."""
    check_cancelled: Callable[[], None] = go_on
    """Called before a call is sent once more; raises CallCancelled in a cancelled run."""


class CallAttempts:
    """All attempts at one call, under one key; `remark` says where its result comes from, if not from a call.

    `left_running` is the end of one that is late and that nobody waits for any more; None for no such.
    `permit` raises CapabilityForbidden where the call may not be sent any more.
    Calls and lookups that fail for now share the retries of the call.
    """

    def __init__(
        self,
        capability: Capability,
        args: dict[str, JsonValue],
        context: CallContext,
        timeout_s: float,
        execution: ExecutionSettings,
        listener: CallListener,
    ) -> None:
        self.remark = ""
        self.left_running: Future[None] | None = None
        self.permit: Callable[[], Awaitable[object]] = permitted
        self._capability = capability
        self._args = args
        self._context = context
        self._timeout_s = timeout_s
        self._execution = execution
        self._listener = listener
        self._failed = self._lookups = 0
        self._sent_before = self._unanswered = False

    async def make(self) -> JsonValue:
        """Call until there is an answer. Raises what the last attempt ended with.

        A queryable call is looked up before it is sent again, every time; never while it still runs.
        """
        while True:
            try:
                return await self._once(self._capability, self._args)
            except CapabilityUnavailable as error:
                await self._again(error)
                queryable = self._capability.effect == "queryable"
                if queryable and (happened := await self._happened_after_all(error)) is not None:
                    return happened
                await self._check_again(error)
            except CapabilityRejected as error:
                if self._sent_before and self._capability.effect == "idempotent":  # that one may have arrived
                    raise BrokeOff(error.cause, error.next_step) from error
                raise
            except EffectInDoubt as error:
                if self._capability.effect != "queryable" or isinstance(error, StillUnderWay):
                    raise
                if (happened := await self.look_up(error)) is not None:
                    return happened
                failed = error.if_not(error.cause)
                if not isinstance(failed, CapabilityUnavailable):
                    raise failed from error
                await self._again(failed)
                await self._check_again(failed)

    async def resume(self, doubt: EffectInDoubt) -> JsonValue:
        """Go on with a call that was begun by a process that has ended.

        Raises `doubt` when it may have happened and nobody can be asked.
        """
        if self._capability.effect == "blind":
            raise doubt
        self._sent_before = True
        if self._capability.effect == "queryable":
            if (happened := await self.look_up(doubt)) is not None:
                return happened
            await self._check_again(doubt.if_not(doubt.cause))
        return await self.make()

    async def look_up(self, doubt: EffectInDoubt) -> JsonValue | None:
        """Ask the receiver whether the call has happened, and return its result; None when it has not.

        Raises EffectInDoubt when the receiver cannot tell.
        """
        if (lookup := self._capability.lookup) is None:
            raise doubt  # every queryable capability has one
        lookup_args = {name: self._args[name] for name in lookup.args.model_fields}
        while True:
            self._lookups += 1
            try:
                answer = await self._once(lookup, lookup_args)
                result = None if answer is None else self._as_result(answer)
            except (CapabilityError, ValidationError) as error:
                await self._wait_or_doubt(error, doubt)
                continue
            self._report("absent" if result is None else "found")
            if result is not None:
                self.remark = "found by its lookup"
            return result

    async def _happened_after_all(self, error: CapabilityUnavailable) -> JsonValue | None:
        """Look up a call of which its capability says that it did not happen, as an author can be wrong.

        Raises `error` where the receiver cannot tell: then it is not sent again.
        """
        try:
            return await self.look_up(EffectInDoubt(error.cause, error.next_step))
        except EffectInDoubt:
            raise error from None

    def _as_result(self, answer: JsonValue) -> JsonValue:
        checked = self._capability.result.validate_python(answer)
        result: JsonValue = self._capability.result.dump_python(checked, mode="json")
        return result

    async def _wait_or_doubt(self, error: CapabilityError | ValidationError, doubt: EffectInDoubt) -> None:
        """Wait for another lookup after one that failed; raise EffectInDoubt when there is none left."""
        cause = "it returned what it does not declare"
        cause = error.cause if isinstance(error, CapabilityError) else f"{cause}: {error_summary(error)}"
        self._report("unknown", cause)
        if isinstance(error, CapabilityUnavailable):
            try:
                return await self._again(error)
            except CapabilityUnavailable:
                pass  # that was the last retry
        raise EffectInDoubt(f"{doubt.cause}; and its lookup failed: {cause}", doubt.next_step) from error

    def _report(self, outcome: str, cause: str = "") -> None:
        self._listener.looked_up(self._lookups, outcome, cause, self._context.idempotency_key)

    async def _once(self, capability: Capability, args: dict[str, JsonValue]) -> JsonValue:
        """Call once; one of which a person has said that it only reads ends as a read, whatever it raises."""
        if capability.may == "reads":
            capability = capability.in_effect("pure")
        called = invoke(capability, args, self._context, self._timeout_s, self._leave)
        return await redacted(called, self._context.redactor)

    def _leave(self, end: Future[None]) -> None:
        self.left_running = end

    async def _again(self, error: CapabilityUnavailable) -> None:
        """Wait before another attempt; raise the error when there is none left."""
        self._failed += 1
        self._sent_before = True
        self._unanswered = self._unanswered or isinstance(error, Unanswered)
        if self._failed > self._execution.step_retries:
            raise error
        if not self._listener.may_retry(self._failed, error.cause, self._context.idempotency_key):
            raise error
        await asyncio.sleep(backoff_s(self._failed, self._execution.retry_base_ms / 1000))

    async def _check_again(self, error: CapabilityError) -> None:
        """Raise the error, with the reason, where a call may not be sent again after the pause.

        CallCancelled where it is known that it has not happened.
        """
        try:
            self._listener.check_cancelled()
            await self.permit()
        except RunStopped:
            raise
        except PlanwrightError as no:
            maybe = self._unanswered and self._capability.effect == "idempotent"
            if isinstance(no, CallCancelled) and isinstance(error, CapabilityUnavailable) and not maybe:
                raise
            raise type(error)(f"{error.cause}; it is not sent again: {no.cause}", error.next_step) from no


def backoff_s(attempt: int, base_s: float) -> float:
    """Say how long to wait after a failed attempt: doubling up to 8 s, with up to 0.1 s of jitter."""
    return min(8.0, base_s * 2.0 ** min(attempt - 1, 30)) + random.uniform(0, 0.1)
