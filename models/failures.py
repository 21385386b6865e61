"""Sort a provider's failure by what to do next."""

from __future__ import annotations

from planwright.graph.errors import ModelError, ModelRejected, ModelUnavailable

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
            )
        return ModelRejected(
            f"provider {provider} refused the request (HTTP {status}): {says}",
            f"check providers.{provider}.model and base_url",
        )
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if kinds & {"APIConnectionError", "APITimeoutError", "TransportError", "TimeoutError", "ConnectionError"}:
        return ModelUnavailable(
            f"provider {provider} is unreachable: {says or type(error).__name__}",
            f"check providers.{provider}.base_url and the network",
        )
    if kinds & {"APIError", "OpenAIError", "JSONDecodeError"}:
        return ModelUnavailable(f"provider {provider} sent no usable reply: {says}", "try again later")
    return None
