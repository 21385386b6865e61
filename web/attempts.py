"""How often somebody may try: to sign in, by address; to change something, by person."""

from __future__ import annotations

import math
import time

from limits import RateLimitItem, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

FAILED_SIGN_INS = RateLimitItemPerMinute(10, namespace="sign-in")
"""Sign-ins of one address that may fail in a minute."""
FORMS = RateLimitItemPerMinute(240, namespace="forms")
"""Forms that one person may send in a minute."""


class Attempts:
    """Attempts of the last minute, in this process."""

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
