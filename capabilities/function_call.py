"""One call of a capability's function: timed, and nothing that it returns or raises is taken on trust."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

from pydantic import JsonValue, ValidationError

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.capability import Capability, explain
from planwright.checkpoints.serde import storable
from planwright.graph.errors import (
    CapabilityError,
    CapabilityRejected,
    CapabilityUnavailable,
    EffectInDoubt,
)

UNCERTAIN = ("queryable", "blind")  # what must not be done again for want of an answer


async def invoke(
    found: Capability, args: dict[str, JsonValue], context: CallContext, timeout_s: float
) -> JsonValue:
    """Call the function once and check what it returns.

    Raises CapabilityUnavailable or CapabilityRejected when nothing has happened, or when it does no harm
    to do it again. Else it is EffectInDoubt.
    """
    keywords: dict[str, Any] = dict(iter(found.args.model_validate(args)))  # one may be named `keys`
    if found.context_parameter:
        keywords[found.context_parameter] = context
    try:
        async with asyncio.timeout(timeout_s):
            if inspect.iscoroutinefunction(found.function):
                result = await found.function(**keywords)
            else:
                result = await asyncio.to_thread(found.function, **keywords)
    except TimeoutError as error:
        late = f"{found.name} did not answer within {timeout_s:g} s"
        if found.effect in UNCERTAIN:
            raise EffectInDoubt(late) from error
        raise CapabilityUnavailable(late) from error
    except (CapabilityRejected, CapabilityUnavailable, EffectInDoubt):
        raise
    except asyncio.CancelledError as error:
        if (task := asyncio.current_task()) is None or task.cancelling():
            raise  # it is we who are cancelled, not the function that says so
        raise _broke_off(found, error) from error
    except (Exception, SystemExit) as error:  # a user's function may raise anything; it is final
        raise _broke_off(found, error) from error
    try:
        dumped: JsonValue = found.result.dump_python(found.result.validate_python(result), mode="json")
        storable(dumped)
    except ValidationError as error:
        raise _useless(found, f"what it does not declare: {explain(error)}") from error
    except (ValueError, TypeError, RecursionError) as error:
        raise _useless(found, f"what cannot be stored: {error}") from error
    return dumped


def _broke_off(found: Capability, error: BaseException) -> CapabilityError:
    said = f"{type(error).__name__}: {error}"
    if found.effect in UNCERTAIN:
        return EffectInDoubt(f"{found.name} broke off: {said}", if_not=CapabilityRejected)
    return CapabilityRejected(f"{found.name} failed: {said}")


def _useless(found: Capability, what: str) -> CapabilityError:
    if found.effect in UNCERTAIN:
        return EffectInDoubt(f"{found.name} was called, and returned {what}", if_not=CapabilityRejected)
    return CapabilityRejected(f"{found.name} returned {what}")
