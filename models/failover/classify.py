"""Sort a provider's failure by what to do next."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from planwright.domain.errors import (
    ContextOverflow,
    KeyRefused,
    ModelError,
    ModelOutputInvalid,
    ModelRejected,
    ModelUnavailable,
)
from planwright.models.failover.retry_after import retry_after
from planwright.security.egress.unreachable import address_of, why_unreachable

LONGEST_READ, LONGEST_QUOTED = 2_000, 200  # characters of what a provider says
TRANSIENT = frozenset((408, 409, 425, 429))
REFUSED_KEYS = frozenset((401, 402, 403))
_OVERLOAD = re.compile(r"rate.?limit|too many requests|overloaded|over capacity|try again later", re.I)
_OVERFLOW = re.compile(
    r"context_length_exceeded|(maximum )?context (length|window)|prompt is too long|too many (input )?tokens"
    r"|input is too long|reduce the length of the messages",
    re.I,
)
_SPENT = re.compile(
    r"insufficient_quota|exceeded your current quota|insufficient (funds|balance|credit)", re.I
)
_NETWORK = frozenset(
    ("APIConnectionError", "APITimeoutError", "TransportError", "TimeoutError", "ConnectionError")
    + ("ModelConnectionError", "ModelTimeoutError")
)
# The errors of LangChain, and those of SDKs that carry no status, by the one that they stand for.
_STATUS_OF = {
    "ModelAuthenticationError": 401,
    "ModelPermissionDeniedError": 403,
    "ModelInvalidRequestError": 400,
    "ModelNotFoundError": 404,
    "ModelRateLimitError": 429,
    "ModelAPIError": 500,
    "RateLimitError": 429,
    "ResourceExhausted": 429,
    "ThrottlingException": 429,
    "ServiceUnavailable": 503,
}
_NOT_SENT = frozenset(
    ("ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError", "UnsupportedProtocol", "InvalidURL")
    + ("LocalProtocolError", "ConnectionRefusedError", "gaierror")
)
_STUMBLED = frozenset(("ValueError", "LookupError", "TypeError", "AttributeError", "RecursionError"))
_SDKS = ("openai.", "langchain_openai.", "langchain_core.")


class NoUsableReply(ModelUnavailable):
    """The provider took the call, and nothing of use came of it: the same call would be paid for again."""

    is_away = False


class ClassStumbled(NoUsableReply):
    """The class of a model that was passed in code raised: its provider is not to be left alone for that."""


def classify(error: Exception, provider: str, *, in_code: bool = False) -> ModelError | None:
    """Name the class of a failed model call; None when it is no failure of the provider's.

    Of a model that was passed `in_code`, an error may be one of its own class, and is told as it is.
    """
    for ours in (error, error.__cause__):
        if isinstance(ours, ModelError):  # from within the SDK: models/bounded.py
            return ours
    failure = _classified(error, provider, in_code)
    if failure is not None and not isinstance(failure, ModelRejected):
        failure.worked = _was_sent(error)
    return failure


def _was_sent(error: Exception) -> bool:
    """Say whether a call reached its provider, which did not answer that it refuses it."""
    chain = [error, error.__cause__, error.__cause__ and error.__cause__.__cause__]
    kinds = {kind.__name__ for link in chain if link is not None for kind in type(link).__mro__}
    return _status(error) is None and not kinds & _NOT_SENT


def _classified(error: Exception, provider: str, in_code: bool) -> ModelError | None:
    status, says = _status(error), _provider_text(error)
    if status is not None:
        return _by_status(error, status, says, provider)
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if kinds & _NETWORK:
        where = f" ({address})" if (address := address_of(error)) else ""
        return ModelUnavailable(
            f"provider {provider} is unreachable: {why_unreachable(error)}{where}",
            f"check providers.{provider}.base_url and the network",
        )
    if "ContextOverflowError" in kinds:
        return _overflow(provider, says)
    if "LengthFinishReasonError" in kinds:
        return ModelOutputInvalid("the reply was cut off at the token limit", "answer with fewer words")
    if kinds & {"APIError", "OpenAIError"} or (kinds & _STUMBLED and _OVERFLOW.search(says)):
        if _OVERFLOW.search(says):
            return _overflow(provider, says)
        return _unusable(provider, says, says)
    stumbled = kinds & _STUMBLED or ("AssertionError" in kinds and _raised_in(error).startswith(_SDKS))
    if stumbled and in_code:
        cause = f"the model that was given in code raised {type(error).__name__}: {says[:LONGEST_QUOTED]}"
        return ClassStumbled(cause, "mend its class, or try again later")
    if stumbled:  # the SDK, over what came
        message = _carried(error).get("message") or (says if _OVERLOAD.search(says) else "")
        report = str(message)[:LONGEST_QUOTED] or "it is no chat completion"
        return _unusable(provider, report, says)
    return None


def _unusable(provider: str, report: str, says: str) -> ModelUnavailable:
    """Say that nothing of use came; a provider that says that it is overloaded is waited for."""
    cause = f"provider {provider} sent no usable reply: {report[:LONGEST_QUOTED]}"
    return (ModelUnavailable if _OVERLOAD.search(says) else NoUsableReply)(cause, "try again later")


def _raised_in(error: Exception) -> str:
    """Name the module that raised an error: the OpenAI SDK asserts that a first chunk has choices (3.52)."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return str(at.tb_frame.f_globals.get("__name__", "")) if at else ""


def _provider_text(error: Exception) -> str:
    """Read what a provider says, in its own words: the SDK leaves out what is no text under `message`.

    Gemini answers with a list, xAI with a text, Mistral with details, OpenRouter with others' words.
    """
    text, body = str(error), getattr(error, "body", None)
    if isinstance(body, dict) and str(body.get("message")) in text:
        body = {name: body[name] for name in ("code", "metadata") if body.get(name)}
    elif isinstance(body, list) and body and isinstance(body[0], dict):
        body = body[0].get("error", body[0])
    words = (
        body if isinstance(body, str) else json.dumps(body, default=str, ensure_ascii=False) if body else ""
    )
    known = not words or words in text
    return " ".join((text if known else f"{text} - {words}").split())[:LONGEST_READ]


def _by_status(error: Exception, status: int, says: str, provider: str) -> ModelError:
    if status in REFUSED_KEYS or (status == 429 and _SPENT.search(says)):
        return KeyRefused(
            f"provider {provider} refused the key (HTTP {status})",
            f"check the key of providers.{provider}",
        )
    if status in TRANSIENT or status >= 500 or _OVERLOAD.search(says):
        headers: Mapping[str, str] = getattr(getattr(error, "response", None), "headers", {})
        return ModelUnavailable(
            f"provider {provider} answered HTTP {status}: {says[:LONGEST_QUOTED]}",
            "try again later, or add a second provider",
            retry_after(headers, datetime.now(UTC)),
        )
    if status == 413 or _OVERFLOW.search(says):
        return _overflow(provider, says)
    return ModelRejected(
        f"provider {provider} refused the request (HTTP {status}): {says[:LONGEST_QUOTED]}",
        f"check providers.{provider}.model and base_url",
    )


def _overflow(provider: str, says: str) -> ContextOverflow:
    return ContextOverflow(
        f"the conversation is too long for provider {provider}: {says[:LONGEST_QUOTED]}",
        f"begin a new thread, or set providers.{provider}.context",
    )


def _status(error: Exception) -> int | None:
    """Read the status of a response, or of the error that a response of 200 carries."""
    carried = str(_carried(error).get("code"))
    for status in (getattr(error, "status_code", None), int(carried) if carried.isdecimal() else None):
        if isinstance(status, int) and 300 <= status < 600:
            return status
    return next(
        (_STATUS_OF[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in _STATUS_OF), None
    )


def _carried(error: Exception) -> Mapping[str, Any]:
    """Find the error of a reply: the SDK keeps it as `body`, langchain-openai as the only argument."""
    held = (getattr(error, "body", None), *error.args[:1])
    return next((body for body in held if isinstance(body, dict)), {})
