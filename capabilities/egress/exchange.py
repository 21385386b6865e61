"""One request and its answer: redirects followed, limits kept."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass

import httpx

from planwright.capabilities.egress.body import ACCEPT_ENCODING, Body, read_body
from planwright.capabilities.egress.guarded_transport import GuardedTransport
from planwright.capabilities.egress.redirects import MOST_REDIRECTS, Hop, next_hop
from planwright.graph.egress_settings import Egress
from planwright.graph.errors import CapabilityRejected


@dataclass(frozen=True)
class Answer:
    """The last reply of a chain, and the URL it came from."""

    url: str
    status: int
    headers: httpx.Headers
    body: Body


async def exchange(transport: GuardedTransport, hop: Hop, egress: Egress) -> Answer:
    """Send a request and read what comes of it; no cookies are kept between the requests of a chain.

    The transport is asked, not a client: httpx's client raises InvalidURL for some `Location` headers
    of redirects it was told not to follow, after the request has been dealt with.
    Raises CapabilityRejected after too many redirects, and what `next_hop` and the transport raise.
    """
    timeouts = httpx.Timeout(egress.timeout_s).as_dict()
    for _ in range(MOST_REDIRECTS + 1):
        headers = {"accept": "*/*", "user-agent": "planwright", **hop.headers}
        headers["accept-encoding"] = ACCEPT_ENCODING
        request = httpx.Request(
            hop.method, hop.url, headers=headers, content=hop.content, extensions={"timeout": timeouts}
        )
        async with aclosing(await transport.handle_async_request(request)) as reply:
            onward = next_hop(hop, reply.status_code, reply.headers.get("location"), egress)
            if onward is None:
                body = await read_body(reply, egress)
                return Answer(str(hop.url), reply.status_code, reply.headers, body)
        hop = onward
    raise CapabilityRejected(f"{hop.url.host} still redirects after {MOST_REDIRECTS} redirects")
