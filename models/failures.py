"""Sort a provider's failure by what to do next."""

from __future__ import annotations

from planwright.graph.errors import ModelError, ModelOutputInvalid, ModelRejected, ModelUnavailable

RETRYABLE = frozenset((408, 409, 425, 429, 500, 502, 503, 504, 529))


def classify(error: Exception, provider: str) -> ModelError | None:
    """Name the class of a failed model call; None when it is no failure of the provider's."""
    status = getattr(error, "status_code", None)
    says = " ".join(str(error).split())[:200]
    if isinstance(status, int) and status >= 400:
        if status in (401, 403):
            return ModelRejected(
                f"provider {provider} refused the key (HTTP {status})",
                f"check the key of providers.{provider}; nothing else was tried in its place",
            )
        if status in RETRYABLE:
            return ModelUnavailable(
                f"provider {provider} answered HTTP {status}: {says}",
                "try again later, or add a second provider",
                _retry_after(error),
            )
        return ModelRejected(
            f"provider {provider} refused the request (HTTP {status}): {says}",
            f"check providers.{provider}.model and base_url",
        )
    cause = error.__cause__ or error.__context__
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if kinds & {"APIConnectionError", "APITimeoutError", "TransportError", "TimeoutError", "ConnectionError"}:
        return ModelUnavailable(
            f"provider {provider} is unreachable: {cause or says or type(error).__name__}",
            f"check providers.{provider}.base_url and the network",
        )
    if "LengthFinishReasonError" in kinds:
        return ModelOutputInvalid("the reply was cut off at the token limit", "answer with fewer words")
    if kinds & {"ValueError", "LookupError", "TypeError", "AttributeError"}:  # the SDK stumbled over it
        says = "it is no chat completion"
        kinds.add("APIError")
    if kinds & {"APIError", "OpenAIError"}:
        return ModelUnavailable(f"provider {provider} sent no usable reply: {says}", "try again later")
    return None


def _retry_after(error: Exception) -> float:
    """Read how many seconds the provider asks to wait; 0 when it does not say."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    try:
        return max(0.0, float(headers.get("retry-after", 0)))
    except ValueError:
        return 0.0
