"""Attempts count for a sender and a minute, and a site of IPv6 is one sender."""

from __future__ import annotations

import pytest
from limits import RateLimitItemPerHour

from planwright.extras.web.rate_limits import RateLimits, client_site

THREE = RateLimitItemPerHour(3, namespace="test")


def test_whoever_has_tried_too_often_waits_and_others_do_not() -> None:
    attempts = RateLimits()
    assert [attempts.add(THREE, "a") for _ in range(3)] == [0, 0, 0]
    assert 0 < attempts.wait_s(THREE, "a") <= 3600
    assert attempts.add(THREE, "a") > 0
    assert attempts.wait_s(THREE, "b") == 0


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("", ""),
    ],
)
def test_a_sender_is_an_address_or_a_site(address: str, name: str) -> None:
    assert client_site(address) == name
