"""Visits: who uses the page in which browser. A cookie names one; person and tenant are of its token."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import OrderedDict
from dataclasses import dataclass

from planwright.domain.clock import Clock
from planwright.records.sign_ins import Way
from planwright.security.credentials import Caller

MOST_VISITS = 1_000
LASTS_S = 12 * 3600


@dataclass(frozen=True)
class Visit:
    """One browser that has signed in."""

    caller: Caller
    """Person and tenant of the token that it came with."""
    way: Way
    """How they signed in."""
    csrf: str
    """What each of its forms has to bring, so that no other page can send one."""
    began_s: float
    """When it began, in seconds since 1970."""
    gate_id: str = ""
    """The one gate that it sees, of a link that takes an answer; "" for all that its caller may."""

    def sees(self, path: str) -> bool:
        """Say whether it may look at a page: that of its one gate, where it is bound to one."""
        if not self.gate_id or path.startswith(("/static/", "/answer/", "/sign-")):
            return True
        return path.split("/")[1:3] == ["approvals", self.gate_id]

    def sent(self, csrf: str) -> bool:
        """Say whether a form with this token is one of ours."""
        return hmac.compare_digest(self.csrf.encode(), csrf.encode("utf-8", "surrogatepass"))


class Visits:
    """The visits of this process, by the SHA-256 of their cookies; they end with it, or after 12 hours."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._visits: OrderedDict[str, Visit] = OrderedDict()

    def begin(self, caller: Caller, way: Way, gate_id: str = "") -> str:
        """Begin a visit, of one gate alone where it is named, and return what its cookie holds."""
        cookie = secrets.token_urlsafe(32)
        csrf, now_s = secrets.token_urlsafe(32), self._clock().timestamp()
        self._visits[_digest(cookie)] = Visit(caller, way, csrf, now_s, gate_id)
        while len(self._visits) > MOST_VISITS:
            self._visits.popitem(last=False)
        return cookie

    def of(self, cookie: str) -> Visit | None:
        """Find the visit that a cookie names; None for one that is unknown or over."""
        digest = _digest(cookie)
        visit = self._visits.get(digest)
        if visit is not None and self._clock().timestamp() - visit.began_s > LASTS_S:
            del self._visits[digest]
            return None
        return visit

    def end(self, cookie: str) -> None:
        """End the visit that a cookie names."""
        self._visits.pop(_digest(cookie), None)


def _digest(cookie: str) -> str:
    return hashlib.sha256(cookie.encode("utf-8", "surrogatepass")).hexdigest()
