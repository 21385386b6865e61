"""Where a redirect leads: which method, body and headers go along, and where it ends."""

from __future__ import annotations

import httpx
import pytest

from planwright.domain.errors import CapabilityForbidden, CapabilityRejected
from planwright.security.egress.redirects import Hop, next_hop
from planwright.settings.egress import EgressSettings

HEADERS = {"authorization": "secret", "x-api-key": "secret", "cookie": "secret", "accept": "text/html"}
LISTED = EgressSettings(allow=("b.example", "127.0.0.1:8000"))


def hop(method: str = "GET", url: str = "http://a.example/x", **headers: str) -> Hop:
    return Hop(method, httpx.URL(url), {**HEADERS, **headers}, b"body" if method != "GET" else None)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_request_that_reads_goes_on_as_it_is(method: str, status: int) -> None:
    onward = next_hop(hop(method), status, "/y", EgressSettings())
    assert onward is not None
    assert (onward.method, str(onward.url)) == (method, "http://a.example/y")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_request_that_changes_goes_on_only_where_it_is_to_be_sent_again(method: str) -> None:
    for status in (301, 302, 303):
        assert next_hop(hop(method), status, "/y", EgressSettings()) is None
    for status in (307, 308):
        onward = next_hop(hop(method), status, "/y", EgressSettings())
        assert onward is not None
        assert (onward.method, onward.content) == (method, b"body")


@pytest.mark.parametrize(
    ("status", "location"), [(200, "/y"), (300, "/y"), (304, "/y"), (302, None), (302, "")]
)
def test_any_other_reply_is_the_answer(status: int, location: str | None) -> None:
    assert next_hop(hop(), status, location, EgressSettings()) is None


def test_credentials_stay_with_their_origin() -> None:
    kept = next_hop(hop(), 302, "/y", LISTED)
    assert kept is not None
    assert kept.headers == HEADERS
    for url in ("http://b.example/", "https://a.example/", "http://127.0.0.1:8000/"):
        dropped = next_hop(hop(), 302, url, LISTED)
        assert dropped is not None
        assert dropped.headers == {"accept": "text/html"}


@pytest.mark.parametrize(
    ("start", "location", "kind"),
    [
        ("http://a.example/", "http://c.example/", CapabilityRejected),
        ("http://a.example/", "http://a.example:8080/", CapabilityRejected),
        ("http://a.example:8080/", "https://a.example/", CapabilityRejected),
        ("http://a.example/", "http://www.a.example/", CapabilityRejected),
        ("http://a.example/", "ftp://a.example/", CapabilityRejected),
        ("http://a.example/", "http://[::1", CapabilityRejected),
        ("https://a.example/", "http://a.example/", CapabilityForbidden),
        ("https://a.example/", "http://b.example/", CapabilityForbidden),
        ("http://a.example/", "http://169.254.169.254/", CapabilityForbidden),
        ("http://a.example/", "http://127.0.0.1:8001/", CapabilityForbidden),
        ("http://a.example/", "//u@a.example/", CapabilityForbidden),
        ("http://a.example/", "\\\\127.0.0.1\\", CapabilityForbidden),
        ("http://a.example/", "/x\r\nX-Injected: 1", CapabilityForbidden),
    ],
)
def test_nobody_is_led_where_nobody_agreed_to_go(
    start: str, location: str, kind: type[CapabilityRejected]
) -> None:
    with pytest.raises(CapabilityRejected) as refused:
        next_hop(hop(url=start), 302, location, LISTED)
    assert type(refused.value) is kind


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("url", ["http://b.example/", "http://127.0.0.1:8000/", "http://a.example:8080/"])
def test_a_request_that_changes_never_goes_to_another_host(method: str, url: str) -> None:
    listed = EgressSettings(allow=("b.example", "127.0.0.1:8000", "a.example"), idempotent=("b.example",))
    for status in (307, 308):
        with pytest.raises(CapabilityRejected, match="nobody has approved"):
            next_hop(hop(method), status, url, listed)


def test_a_key_is_only_sent_to_places_that_honour_it() -> None:
    sent = hop("POST", **{"idempotency-key": "k"})
    with pytest.raises(CapabilityRejected, match=r"egress\.idempotent"):
        next_hop(sent, 307, "https://a.example/", LISTED)
    both = LISTED.model_copy(update={"idempotent": ("a.example",)})
    onward = next_hop(sent, 307, "https://a.example/", both)
    assert onward is not None
    assert onward.headers["idempotency-key"] == "k"
