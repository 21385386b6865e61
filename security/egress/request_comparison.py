"""Compare a request, as it is handed to the transport, with the arguments that were approved.

A library reads a URL anew, drops `..` from its path, joins headers and writes bodies. A server has to get
the method, host, port, path, query, headers and body that were approved, and nothing besides. Characters
that no URL can hold arrive percent-encoded (RFC 3986 section 2.1), a host in lower case or as IDNA.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import quote, urlsplit

import httpx

from planwright.domain.errors import CapabilityRejected

# What the client adds where the caller has not set it; any other header is nobody's.
ADDED = frozenset(
    ("host", "accept", "accept-encoding", "user-agent", "connection", "content-length", "content-type")
)
_TARGET = re.compile(r"[^:/?#]+://[^/?#]*(?P<target>[^#]*)")
_PORTS = {"http": 80, "https": 443}
_LITERAL = "%!$&'()*+,;=:@/?-._~"  # what stands in a path or query as it is


@dataclass(frozen=True)
class ApprovedRequest:
    """What a request was approved to be; header names are lower case."""

    method: str
    """HTTP method that was approved."""
    url: str
    """Address that was approved."""
    headers: Mapping[str, str]
    """Headers that were approved, by name in lower case."""
    content: bytes = b""
    """Body that was approved; empty for none."""


def compare(request: httpx.Request, approved: ApprovedRequest) -> None:
    """Refuse a request that is not what was approved.

    Raises CapabilityRejected, which names the part that differs.
    """
    if request.method != approved.method:
        _refuse("method", request.method)
    _compare_url(request.url, approved.url)
    _compare_headers(request, approved)
    if request.content != approved.content:
        _refuse("body", f"{len(request.content)} bytes")


def _compare_url(url: httpx.URL, approved: str) -> None:
    try:
        parts = urlsplit(approved)
        name, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        _refuse("host", url.host)
    if url.scheme != parts.scheme:
        _refuse("scheme", url.scheme)
    if (url.raw_host.decode("ascii") if name.isascii() else url.host) != name:
        _refuse("host", url.host)
    if (url.port or _PORTS.get(url.scheme)) != port:
        _refuse("port", str(url.port))
    form = _TARGET.match(approved)
    target = form["target"] if form else ""
    target = target if target.startswith("/") else f"/{target}"
    if _encoded(url.raw_path.decode("ascii")) != _encoded(target):
        _refuse("path", url.raw_path.decode("ascii")[:500])


def _encoded(target: str) -> str:
    """Bring to one form what may be percent-encoded or not; what is encoded already stays apart."""
    return quote(target, safe=_LITERAL)


def _compare_headers(request: httpx.Request, approved: ApprovedRequest) -> None:
    sent = [(name.decode("ascii").lower(), value.decode("latin-1")) for name, value in request.headers.raw]
    names = [name for name, _ in sent]
    if len(set(names)) != len(names) or not ADDED.union(approved.headers).issuperset(names):
        _refuse("headers", ", ".join(names))
    values = dict(sent)
    for name, value in approved.headers.items():
        if values.get(name) != value:
            _refuse("headers", name)
    if values.get("host") != request.url.netloc.decode("ascii"):
        _refuse("host", values.get("host", ""))
    if int(values.get("content-length", "0")) != len(approved.content):
        _refuse("body", values["content-length"])


def _refuse(part: str, would_be: str) -> NoReturn:
    raise CapabilityRejected(
        f"the request would not be sent as it was approved: its {part} would be {would_be!r}",
        "nothing was sent; write it as it is to be sent",
    )
