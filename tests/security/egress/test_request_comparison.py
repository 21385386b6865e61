"""A request is compared with what was approved before it leaves; the library may encode, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx
import pytest

from planwright.domain.errors import CapabilityRejected
from planwright.security.egress.request_comparison import ApprovedRequest, compare

POST = ApprovedRequest("POST", "http://a.example:8080/x?y=1", {"x-a": "1"}, b"body")


def written(approved: ApprovedRequest, **changes: Any) -> httpx.Request:
    """Write a request as it was approved, but for some changes."""
    parts: dict[str, Any] = {"method": approved.method, "url": approved.url, "content": approved.content}
    return httpx.Request(**{**parts, "headers": approved.headers, **changes})


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"method": "PUT"}, "method"),
        ({"url": "https://a.example:8080/x?y=1"}, "scheme"),
        ({"url": "http://b.example:8080/x?y=1"}, "host"),
        ({"url": "http://a.example/x?y=1"}, "port"),
        ({"url": "http://a.example:8080/x?y=2"}, "path"),
        ({"url": "http://a.example:8080/x"}, "path"),
        ({"headers": {"x-a": "2"}}, "headers"),
        ({"headers": {}}, "headers"),
        ({"headers": {"x-a": "1", "cookie": "c"}}, "headers"),
        ({"headers": [("x-a", "1"), ("X-A", "1")]}, "headers"),
        ({"headers": {"x-a": "1", "host": "b.example"}}, "host"),
        ({"headers": {"x-a": "1", "content-length": "3"}}, "body"),
        ({"content": b"BODY"}, "body"),
        ({"content": b""}, "body"),
    ],
)
def test_what_differs_is_refused_by_name(changes: dict[str, Any], part: str) -> None:
    compare(written(POST), POST)
    with pytest.raises(CapabilityRejected, match=f"its {part} would be"):
        compare(written(POST, **changes), POST)


@pytest.mark.parametrize(
    "url",
    [
        "http://a.example",
        "http://a.example?x",
        "http://a.example/#part",
        "http://A.example:80/",
        "http://bücher.example/é?q=日",
        "http://xn--bcher-kva.example/",
        "http://[::1]:8000/x",
        'http://a.example/%2e%2e/%2F%41%zz/a//b;c=1?q=a+b&&="<{[^`|]}>%',
    ],
)
def test_what_a_url_cannot_hold_is_encoded(url: str) -> None:
    approved = replace(POST, url=url)
    compare(written(approved), approved)


@pytest.mark.parametrize(
    "url", ["http://a.example/public/../admin", "http://a.example/./x", "http://a.example/.."]
)
def test_a_path_that_a_library_shortens_is_refused(url: str) -> None:
    approved = replace(POST, url=url)
    with pytest.raises(CapabilityRejected, match="its path would be"):
        compare(written(approved), approved)
