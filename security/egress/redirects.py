"""Where a request goes on to after a redirect, if it may (RFC 9110 section 15.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urljoin

import httpx

from planwright.domain.errors import CapabilityForbidden, CapabilityRejected
from planwright.security.egress.target import Target, check_target, read_url, target_of
from planwright.settings.egress import EgressSettings

MOST_REDIRECTS = 5
SAFE_METHODS = ("GET", "HEAD")
KEY_HEADER = "idempotency-key"
# What may be sent to another origin; any other header may be a credential.
_HARMLESS = frozenset(("accept", "accept-language", "content-type", "user-agent", KEY_HEADER))


@dataclass(frozen=True)
class Hop:
    """One request of a chain; header names are lower case."""

    method: str
    """HTTP method."""
    url: httpx.URL
    """Address that is asked."""
    headers: Mapping[str, str]
    """Headers by name in lower case."""
    content: bytes | None = None
    """Body that is sent; None for none."""

    @property
    def safe(self) -> bool:
        """Whether it only reads."""
        return self.method in SAFE_METHODS


def next_hop(hop: Hop, status: int, location: str | None, egress: EgressSettings) -> Hop | None:
    """Follow a redirect; None when the reply is the answer.

    A request that changes something is sent again only where 307 or 308 says so: after 301, 302 and
    303 it has been dealt with, and the redirect is its answer. It never goes to another host, listed or
    not: that host was not approved for it. Raises CapabilityForbidden for a place that may not be
    reached, CapabilityRejected for one that nobody has agreed to.
    """
    if not location or status not in ((301, 302, 303, 307, 308) if hop.safe else (307, 308)):
        return None
    try:
        url = read_url(urljoin(str(hop.url), location))
    except ValueError as error:
        raise CapabilityRejected(
            f"{hop.url.host} redirects to {location[:200]!r}, which is no URL"
        ) from error
    before, after = target_of(hop.url), target_of(url)
    check_target(after, egress)
    if (before.scheme, after.scheme) == ("https", "http"):
        raise CapabilityForbidden(f"{before.place} redirects to {after.place} without encryption")
    if before.origin == after.origin:
        return Hop(hop.method, url, hop.headers, hop.content)
    if not (hop.safe or _same_but_encrypted(before, after)):
        raise CapabilityRejected(
            f"{before.place} redirects the {hop.method} to {after.place}, which nobody has approved",
            f"ask for {str(url)[:500]} itself",
        )
    if not (egress.allows(after.host, after.port) or _same_but_encrypted(before, after)):
        raise CapabilityRejected(
            f"{before.place} redirects to {after.place}, which is not in egress.allow",
            f"ask for {str(url)[:500]} itself",
        )
    if KEY_HEADER in hop.headers and not egress.honours_keys(after.host, after.port):
        raise CapabilityRejected(
            f"{before.place} redirects to {after.place}, which is not in egress.idempotent"
        )
    headers = {name: value for name, value in hop.headers.items() if name in _HARMLESS}
    return Hop(hop.method, url, headers, hop.content)


def _same_but_encrypted(before: Target, after: Target) -> bool:
    return before.host == after.host and (before.origin[::2], after.origin[::2]) == (
        ("http", 80),
        ("https", 443),
    )
