"""One request and its answer: redirects followed, limits kept."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx

from planwright.domain.errors import CapabilityRejected
from planwright.security.egress.body import ACCEPT_ENCODING, Body, read_body
from planwright.security.egress.redirects import MOST_REDIRECTS, Hop, next_hop
from planwright.security.egress.request_comparison import ApprovedRequest, compare
from planwright.security.egress.target import read_url
from planwright.settings.egress import EgressSettings

if TYPE_CHECKING:  # it loads httpcore, which only a call that goes out needs
    from planwright.security.egress.guarded_transport import GuardedTransport


@dataclass(frozen=True)
class HttpReply:
    """The last reply of a chain, and the URL it came from."""

    url: str
    """Address that the last reply came from."""
    status: int
    """HTTP status of that reply."""
    headers: httpx.Headers
    """All headers of that reply."""
    body: Body
    """Its text, or why it was left out."""


async def exchange(
    transport: GuardedTransport, approved: ApprovedRequest, egress: EgressSettings
) -> HttpReply:
    """Send a request and read what comes of it; no cookies are kept between the requests of a chain.

    The transport is asked, not a client: httpx's client raises InvalidURL for some `Location` headers
    of redirects it was told not to follow, after the request has been dealt with. How long all of it may
    take is up to the caller.
    Raises CapabilityRejected before anything is sent where the request is not what was approved, and after
    too many redirects, and what `next_hop` and the transport raise.
    """
    hop = Hop(approved.method, read_url(approved.url), approved.headers, approved.content or None)
    timeouts = httpx.Timeout(None, connect=egress.timeout_s).as_dict()
    for redirects in range(MOST_REDIRECTS + 1):
        request = _request(hop, timeouts)
        if not redirects:
            compare(request, approved)
        async with aclosing(await transport.handle_async_request(request)) as reply:
            onward = next_hop(hop, reply.status_code, reply.headers.get("location"), egress)
            if onward is None:
                body = await read_body(reply, egress)
                return HttpReply(str(hop.url), reply.status_code, reply.headers, body)
        hop = onward
    raise CapabilityRejected(f"{hop.url.host} still redirects after {MOST_REDIRECTS} redirects")


def _request(hop: Hop, timeouts: dict[str, float | None]) -> httpx.Request:
    headers = {"accept": "*/*", "user-agent": "planwright", **hop.headers}
    headers["accept-encoding"] = ACCEPT_ENCODING
    return httpx.Request(
        hop.method,
        hop.url,
        headers=[(name.encode("ascii"), value.encode("latin-1")) for name, value in headers.items()],
        content=hop.content,
        extensions={"timeout": timeouts},
    )
