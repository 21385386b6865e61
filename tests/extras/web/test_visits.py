"""Visits: known by a cookie alone, over after twelve hours, and no more of them than fit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from planwright.extras.web.visits import LASTS_S, MOST_VISITS, Visits
from planwright.security.credentials import Caller


def test_a_visit_is_over_after_its_time_and_when_it_is_ended() -> None:
    now = datetime(2026, 11, 24, tzinfo=UTC)
    visits = Visits(lambda: now)
    cookie, other = visits.begin(Caller("ada"), "link"), visits.begin(Caller("ben", "other"), "token")
    visit = visits.of(other)
    assert visit is not None
    assert (visit.caller.person, visit.caller.tenant) == ("ben", "other")
    assert visit.sent(visit.csrf)
    assert not visit.sent("")
    assert not visit.sent("\ud800")
    visits.end(other)
    assert visits.of(other) is None
    now += timedelta(seconds=LASTS_S + 1)
    assert visits.of(cookie) is None
    assert visits.of("") is None


def test_the_oldest_visit_makes_room() -> None:
    visits = Visits(lambda: datetime(2026, 11, 24, tzinfo=UTC))
    cookies = [visits.begin(Caller("ada"), "link") for _ in range(MOST_VISITS + 1)]
    assert visits.of(cookies[0]) is None
    assert visits.of(cookies[1]) is not None
