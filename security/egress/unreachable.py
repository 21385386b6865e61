"""Why a connection could not be made, in words: what lies at the bottom of the errors of the network."""

from __future__ import annotations

PASSING = frozenset(
    ("ConnectionError", "TimeoutError", "gaierror")  # Python's own
    + ("TransportError", "Timeout", "URLError", "ClientConnectionError")  # httpx, requests, urllib, aiohttp
    + ("APIConnectionError", "ModelConnectionError", "ModelTimeoutError")  # SDKs of models, LangChain
)
"""Names of the classes whose errors may be gone the next time, also of those that inherit from one."""
LASTING = frozenset(("UnsupportedProtocol", "LocalProtocolError"))
"""Names of classes below one of those whose errors stay."""
PASSING_STATUS = frozenset((408, 425, 429, 502, 503, 504))
"""Statuses of an HTTP answer that may be another one the next time."""


def may_pass(error: BaseException) -> bool:
    """Say whether the same call may work later: the receiver was not reached, was too slow, or says so."""
    try:
        numbers = [getattr(error, name, None) for name in ("status_code", "status", "code")]
        numbers.insert(0, getattr(getattr(error, "response", None), "status_code", None))
    except Exception:  # noqa: BLE001 - the class of an error may be a user's own
        numbers = []
    if (status := next((number for number in numbers if isinstance(number, int)), None)) is not None:
        return isinstance(error, Exception) and status in PASSING_STATUS
    kinds = {kind.__name__ for kind in type(error).__mro__}
    return bool(kinds & PASSING) and not kinds & LASTING


def why_unreachable(error: BaseException) -> str:
    """Say what a failed connection met at last, or that it was refused."""
    chain = _chain(error)
    if any(map(_refused, chain)):
        return "the connection was refused"
    texts = [str(part) for part in chain if isinstance(part, Exception) and str(part)]
    return texts[-1] if texts else type(error).__name__


def address_of(error: BaseException) -> str:
    """Name host and port of the request that failed; "" where no error knows them."""
    return next(filter(None, map(_address, _chain(error))), "")


def _chain(error: BaseException) -> list[BaseException]:
    """List an error and what it comes from, the deepest last."""
    chain = [error]
    while (below := chain[-1].__cause__ or chain[-1].__context__) is not None and below not in chain:
        chain.append(below)
    return chain


def _refused(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return any(map(_refused, error.exceptions))
    return isinstance(error, ConnectionRefusedError)


def _address(error: BaseException) -> str:
    try:
        url = getattr(error, "request", None)
    except RuntimeError:  # httpx: it was never set
        return ""
    url = getattr(url, "url", None)
    port = getattr(url, "port", None)
    return "" if url is None else f"{url.host}{f':{port}' if port else ''}"
