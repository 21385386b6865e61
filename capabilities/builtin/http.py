"""Requests to the web: where the guarded transport lets them, and only where policy or a person does."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal
from urllib.parse import unquote, urlsplit

import httpx
from pydantic import BaseModel, Field, JsonValue

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Guide
from planwright.capabilities.declaration import capability
from planwright.capabilities.descriptions import Deed
from planwright.checkpoints.serde import storable
from planwright.domain.clock import AttendedTimeout
from planwright.domain.errors import CapabilityRejected, CapabilityUnavailable, EffectInDoubt
from planwright.domain.references import has_reference
from planwright.domain.risk import Effect, Risk
from planwright.language.nouns import HTTP_TAGS
from planwright.security.egress.exchange import HttpReply, exchange
from planwright.security.egress.redirects import KEY_HEADER, SAFE_METHODS
from planwright.security.egress.request_comparison import ApprovedRequest
from planwright.security.egress.target import Target, check_target, read_url, target_of
from planwright.security.egress.unreachable import why_unreachable

Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
USEFUL_HEADERS = (
    "content-type",
    "content-language",
    "etag",
    "last-modified",
    "link",
    "location",
    "retry-after",
)
MOST_VALUES = 100_000  # of JSON; what has more is text only
_FIXED = re.compile(r"https?://[^/?#{}]+[/?#]", re.IGNORECASE)  # a host that no reference can change any more
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")  # RFC 9110 section 5.6.2
_VALUE = re.compile(r"(?![ \t])[\x20-\x7e\x80-\xff\t]{0,4000}(?<![ \t])")  # section 5.5: no space at its ends
_OURS = frozenset(
    "host content-length transfer-encoding connection keep-alive te trailer upgrade expect http2-settings"
    " accept-encoding idempotency-key"
    # What makes a server take another method, path, host or sender for the one that was approved.
    " x-http-method-override x-http-method x-method-override x-original-url x-rewrite-url x-original-method"
    " forwarded via x-real-ip x-client-ip true-client-ip x-host".split()
)
_OURS_BY_PREFIX = ("proxy-", "x-forwarded-")


class Response(BaseModel):
    """What came back: `text` as it is, `data` where it is JSON, `left_out` why neither was kept."""

    url: str
    """Address that answered, after redirects."""
    status: int
    """HTTP status of the answer."""
    content_type: str = ""
    """Media type as the server names it; "" where it names none."""
    headers: dict[str, str] = {}
    """Headers that are of use, by name in lower case."""
    text: str = ""
    """Body as text; "" where it was left out."""
    data: JsonValue = None
    """Body as a value, where it is JSON; else None."""
    left_out: str = ""
    """Why the body was not kept; "" where it was."""


def _target(args: Mapping[str, JsonValue]) -> Target | None:
    """Read where a call goes; None while only a reference knows. Raises as `read_url`."""
    url = str(args.get("url", ""))
    if has_reference(url):
        fixed = _FIXED.match(url)
        if fixed is None:
            return None
        url = fixed[0]
    return target_of(read_url(url))


def _hosts(args: Mapping[str, JsonValue], call: CallContext) -> Sequence[str] | None:
    target = _target(args)
    return None if target is None else [target.place]


def _varies(args: Mapping[str, JsonValue], call: CallContext) -> tuple[Risk, Effect]:
    if args.get("method", "GET") in SAFE_METHODS:
        return "Low", "pure"
    target = _target(args)
    known = target is not None and call.settings.egress.honours_keys(target.host, target.port)
    return "High", "idempotent" if known else "blind"


def _place(args: Mapping[str, JsonValue]) -> str:
    target = _target(args)
    return "http:" if target is None else f"http:{target.place}"


def _read(args: Mapping[str, JsonValue], call: CallContext) -> Sequence[str]:
    """Name the whole server: nobody knows which of its pages another request changes."""
    return [_place(args)] if args.get("method", "GET") in SAFE_METHODS else []


def _posted(args: Mapping[str, JsonValue], call: CallContext) -> Sequence[str]:
    """Name what a POST adds to: the server, as it decides itself what it makes of it (RFC 9110, 9.3.3)."""
    return [_place(args)] if args.get("method") == "POST" else []


def _changed(args: Mapping[str, JsonValue], call: CallContext) -> Sequence[str]:
    """Name what any other method replaces or takes away: what its URL names (RFC 9110, 9.3.4 and 9.3.5)."""
    if args.get("method", "GET") in (*SAFE_METHODS, "POST"):
        return []
    url = str(args.get("url", ""))
    path = unquote(urlsplit(url).path)
    return [_place(args) if has_reference(url) or ".." in path else f"{_place(args)}{path}"]


def _check_request(args: Mapping[str, JsonValue], call: CallContext) -> None:
    """Refuse before anything is shown what could never be sent."""
    target = _target(args)
    if target is not None:
        check_target(target, call.settings.egress)
    headers = args.get("headers")
    if isinstance(headers, dict):
        _check_headers({name: "" if has_reference(value) else str(value) for name, value in headers.items()})
    full = args.get("body") is not None, args.get("data") is not None
    if all(full):
        raise CapabilityRejected("http.request was given body and data", "give one of them")
    if any(full) and args.get("method", "GET") in SAFE_METHODS:
        raise CapabilityRejected("GET and HEAD have no body", "put it into the URL, or name another method")


def _check_headers(headers: Mapping[str, str]) -> None:
    """Refuse headers that cannot be sent as they are; of a name in two spellings only one would be."""
    if len({name.lower() for name in headers}) < len(headers):
        raise CapabilityRejected("a header is set twice", "set each once, in any spelling")
    for name, value in headers.items():
        _check_header(name, value)


def _check_header(name: str, value: str) -> None:
    low = name.lower()
    if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
        raise CapabilityRejected(
            f"{name[:100]!r} is no header that can be sent", "use plain names and values"
        )
    if low in _OURS or low.startswith(_OURS_BY_PREFIX):
        raise CapabilityRejected(f"the header {name} is not yours to set", "leave it out")


@capability(
    "http.request",
    mode="network",
    risk="High",
    effect="blind",
    tags=HTTP_TAGS,
    guide=Guide(
        "Sends one HTTP request to a public address or a listed host. GET and HEAD only read; any other"
        " method changes something and is asked for.",
        ("Fetch https://status.example.com/api", "POST the order to https://shop.example.com/orders"),
        70,
    ),
    preflight=_check_request,
    hosts=_hosts,
    varies=_varies,
    destinations=("url", "method", "headers"),
    deed=Deed("send", "request", where=("url",)),
    reads=_read,
    adds=_posted,
    writes=_changed,
)
async def request(
    url: Annotated[
        str, Field(description="http:// or https://, in full, without user name", max_length=8192)
    ],
    call: CallContext,
    method: Method = "GET",
    headers: Annotated[dict[str, str] | None, Field(description="e.g. Accept")] = None,
    body: Annotated[str | None, Field(description="text to send", max_length=1_000_000)] = None,
    data: Annotated[JsonValue, Field(description="a value to send as JSON")] = None,
) -> Response:
    """Send an HTTP request and return status, headers and text of the answer."""
    egress = call.settings.egress
    _, effect = _varies({"method": method, "url": url}, call)
    _check_headers(headers or {})
    sent = {name.lower(): value for name, value in (headers or {}).items()}
    if effect == "idempotent":
        sent[KEY_HEADER] = call.idempotency_key
    content = (body or "").encode()
    if data is not None:
        sent.setdefault("content-type", "application/json")
        content = _json(data)
    approved = ApprovedRequest(method, url, sent, content)
    try:
        async with AttendedTimeout(egress.timeout_s), call.reachable.transport() as transport:
            answer = await exchange(transport, approved, egress)
    except TimeoutError as error:
        late = httpx.ReadTimeout(f"it took longer than {egress.timeout_s:g} s (egress.timeout_s)")
        raise _failure(late, approved, effect) from error
    except httpx.TransportError as error:
        raise _failure(error, approved, effect) from error
    _check_status(answer, approved, effect)
    return _response(answer)


def _json(value: JsonValue) -> bytes:
    try:
        return json.dumps(value, allow_nan=False).encode()
    except ValueError as error:
        raise CapabilityRejected("JSON has no such number", "write NaN and infinity as text") from error


def _failure(error: httpx.TransportError, approved: ApprovedRequest, effect: Effect) -> Exception:
    """Sort a broken connection by whether anything can have happened."""
    host, problem = read_url(approved.url).host, str(error) or type(error).__name__
    if "CERTIFICATE_VERIFY_FAILED" in problem:  # the pool takes the cause away, the words stay
        return CapabilityRejected(f"the certificate of {host} is not valid for it: {problem}")
    unsent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
    if unsent or effect != "blind":
        return CapabilityUnavailable(f"{host} is unreachable: {why_unreachable(error)}")
    cause = f"{host} broke off before it answered the {approved.method}: {problem}"
    return EffectInDoubt(cause, f"look at {host} whether the {approved.method} is there")


def _check_status(answer: HttpReply, approved: ApprovedRequest, effect: Effect) -> None:
    """Raise for an answer that is none: later, never, or (with a blind effect) nobody knows."""
    status, cause = answer.status, f"{httpx.URL(answer.url).host} answered {answer.status}"
    refused_unread = status in (425, 429)  # RFC 8470 section 5.2, RFC 6585 section 4
    if refused_unread or (effect != "blind" and (status == 408 or status >= 500)):
        raise CapabilityUnavailable(cause)
    if status == 408 or status >= 500:
        find_out = f"look at {httpx.URL(answer.url).host} whether the {approved.method} is there"
        raise EffectInDoubt(f"{cause} to the {approved.method}", find_out)
    if status >= 400:
        raise CapabilityRejected(f"{cause}: {answer.body.text[:200]}")
    if approved.method in SAFE_METHODS and 300 <= status < 400 and status != 304:
        raise CapabilityRejected(f"{cause}, and not where to go on")
    if approved.method == "GET" and answer.body.left_out:
        raise CapabilityRejected(
            f"the answer of {httpx.URL(answer.url).host} is no use: {answer.body.left_out}"
        )


def _response(answer: HttpReply) -> Response:
    kind = answer.headers.get("content-type", "")[:200]
    return Response(
        url=answer.url,
        status=answer.status,
        content_type=kind,
        headers={name: answer.headers[name][:1000] for name in USEFUL_HEADERS if name in answer.headers},
        text=answer.body.text,
        data=_data(answer.body.text) if "json" in kind.lower() else None,
        left_out=answer.body.left_out,
    )


def _data(text: str) -> JsonValue:
    """Read JSON, as far as it can be kept: no NaN, no half surrogate pairs, not too deep or too much."""
    if text.count(",") + text.count("[") + text.count("{") > MOST_VALUES:
        return None
    try:
        value: JsonValue = json.loads(text, parse_constant=_no_number)
        storable(value)
        Response(url="", status=0, data=value).model_dump_json()
    except (ValueError, TypeError, RecursionError):
        return None
    return value


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")
