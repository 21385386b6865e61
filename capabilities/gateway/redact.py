"""Where secrets stop on their way into and out of a capability."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping

from pydantic import JsonValue

from planwright.capabilities.contract import Capability
from planwright.domain.errors import CapabilityForbidden
from planwright.security.redaction.redactor import Redactor

MOST_WORDS = 10_000
"""Letters of an error that are kept: it goes into the ledger, to people and to models."""


async def redacted(call: Awaitable[JsonValue], redactor: Redactor) -> JsonValue:
    """Await what a capability answers, result or error, and let no secret through, nor a book of an error."""
    with redactor.errors(MOST_WORDS):
        return redactor.value(await call)


def refuse_secrets(capability: Capability, args: Mapping[str, JsonValue], redactor: Redactor) -> None:
    """Raise CapabilityForbidden for arguments that hold a secret, or the mark that stands for one."""
    if reason := why_not(capability, args, redactor):
        raise CapabilityForbidden(f"{capability.name}: {reason}", "leave it out")


def why_not(capability: Capability, args: Mapping[str, JsonValue], redactor: Redactor) -> str:
    """Say why arguments must not be used; empty when they may.

    A secret in an argument has gone where it must not be. A mark is not what it stands for: to read
    with it is harmless, to change something with it writes nonsense.
    """
    if name := redactor.held_in(dict(args)):
        return f"an argument holds the secret {name}"
    if capability.effect != "pure" and (name := redactor.blotted_in(dict(args))):
        return f"an argument holds the mark of the secret {name}, which was put out of sight"
    return ""
