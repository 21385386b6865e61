"""How often somebody may try: to sign in, by address; to change something, by person."""

from __future__ import annotations

import ipaddress
import math
import time

from limits import RateLimitItem, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

FAILED_SIGN_INS = RateLimitItemPerMinute(10, namespace="sign-in")
"""Sign-ins of one address that may fail in a minute."""
BEGUN_SIGN_INS = RateLimitItemPerMinute(30, namespace="begun")
"""Browsers of one address that are sent to the provider in a minute."""
FORMS = RateLimitItemPerMinute(240, namespace="forms")
"""Forms that one person may send in a minute."""
SITE_BITS = 64
"""Bits of an IPv6 address that name a site; whoever has one has all the addresses below it (RFC 6177)."""


def client_site(address: str) -> str:
    """Name whoever is behind an IP address: the address itself, or the site of IPv6."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    site = ipaddress.ip_network((parsed, SITE_BITS), strict=False) if parsed.version == 6 else parsed
    return str(site)


class RateLimits:
    """The attempts of the last minute, as this process has seen them."""

    def __init__(self) -> None:
        self._window = MovingWindowRateLimiter(MemoryStorage())

    def add(self, limit: RateLimitItem, who: str) -> int:
        """Count an attempt; returns the seconds to wait before it may be made, 0 where it may."""
        return 0 if self._window.hit(limit, who) else self.wait_s(limit, who)

    def wait_s(self, limit: RateLimitItem, who: str) -> int:
        """Say how many seconds are left until another attempt counts, without counting one."""
        if self._window.test(limit, who):
            return 0
        return max(1, math.ceil(self._window.get_window_stats(limit, who).reset_time - time.time()))
