"""What a request has to be, by its scope alone: where it came in, the names it uses, its body, its token."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from planwright.graph.serving.requests import (
    caller_of,
    in_the_clear,
    is_page,
    misdirected,
    unauthenticated,
)
from planwright.security.credentials import Caller, Credentials
from planwright.settings.server import ServerSettings

START, ADA = "s" * 43, "a" * 43
DIGEST = hashlib.sha256(ADA.encode()).hexdigest()
HOSTED = ServerSettings(hosts=("agents.example.com",))
LOCAL, OUTSIDE = ("127.0.0.1", 2024), ("203.0.113.7", 443)


def scope(server: Any = LOCAL, path: str = "/threads/search", **headers: str | list[str]) -> dict[str, Any]:
    """Write the scope of a request."""
    given: dict[str, Any] = {"host": "127.0.0.1:2024", **headers}
    pairs = [
        (name.replace("_", "-").encode(), value.encode())
        for name, values in given.items()
        for value in ([values] if isinstance(values, str) else values)
    ]
    return {"type": "http", "method": "POST", "path": path, "headers": pairs, "server": server}


def status(given: dict[str, Any], server: ServerSettings | None = None) -> int | None:
    """Say with which status a request is refused before anybody asks for its token."""
    refused = misdirected(given, server or ServerSettings())
    return refused.status if refused else None


@pytest.mark.parametrize("host", ["127.0.0.1:2024", "localhost:2024", "LOCALHOST:2024", "[::1]:2024"])
def test_a_name_of_the_loopback_interface_is_ours_there(host: str) -> None:
    assert status(scope(host=host)) is None
    assert status(scope(OUTSIDE, host=host)) == 403


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example:2024", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:20240", "localhost.evil.example:2024"),
        *("127.0.0.1:2024.evil.example", "2130706433:2024", "0.0.0.0:2024", "", "agents.example.com"),
        *(["127.0.0.1:2024", "evil.example"], ["127.0.0.1:2024", "127.0.0.1:2024"], []),
    ],
    ids=repr,
)
def test_another_host_is_refused(host: str | list[str]) -> None:
    assert status(scope(host=host)) == 403


def test_off_the_loopback_interface_only_listed_hosts_are_ours() -> None:
    assert status(scope(OUTSIDE, host="agents.example.com"), HOSTED) is None
    assert status(scope(OUTSIDE, host="agents.example.com"), ServerSettings()) == 403
    assert status(scope(OUTSIDE, host="other.example.com"), HOSTED) == 403


@pytest.mark.parametrize("server", [None, ("/run/socket", None), ("example.com", 80)])
def test_a_connection_whose_address_is_not_known_is_not_of_this_machine(server: Any) -> None:
    assert status(scope(server)) == 403


@pytest.mark.parametrize("origin", ["https://smith.langchain.com", "http://127.0.0.1:2024"])
def test_studio_and_our_own_origin_may_ask(origin: str) -> None:
    assert status(scope(origin=origin)) is None


@pytest.mark.parametrize(
    "origin",
    [
        *("https://evil.example", "null", "", "http://127.0.0.1:2025", "http://localhost:2024"),
        *("https://smith.langchain.com.evil.example", "http://smith.langchain.com", "file://"),
        ["https://smith.langchain.com", "https://evil.example"],
    ],
    ids=repr,
)
def test_another_origin_is_refused(origin: str | list[str]) -> None:
    assert status(scope(origin=origin)) == 403


@pytest.mark.parametrize("type_", ["application/json", "application/json; charset=utf-8", "Application/JSON"])
def test_a_body_of_json_passes(type_: str) -> None:
    assert status(scope(content_type=type_, content_length="2")) is None


@pytest.mark.parametrize(
    "headers",
    [
        {"content_type": "text/plain"},
        {"content_type": "text/plain", "content_length": "0"},
        {"content_type": "text/plain; application/json"},
        {"content_type": "application/x-www-form-urlencoded", "content_length": "2"},
        {"content_type": "multipart/form-data; boundary=x", "content_length": "2"},
        {"content_type": ["application/json", "text/plain"]},
        {"content_type": "application/jsonp"},
        {"content_length": "2"},
        {"transfer_encoding": "chunked"},
    ],
    ids=repr,
)
def test_a_body_that_does_not_say_it_is_json_is_refused(headers: dict[str, Any]) -> None:
    assert status(scope(**headers)) == 415


@pytest.mark.parametrize(
    "path", ["/internal/truncate", "/internal/debug/thread/x", "/deploy", "/deploy/x/stream"]
)
def test_routes_that_nobody_needs_are_closed(path: str) -> None:
    assert status(scope(path=path)) == 404


@pytest.mark.parametrize(
    "headers",
    [
        *({"authorization": f"Bearer {ADA}"}, {"authorization": f"bearer  {ADA}"}, {"x_api_key": ADA}),
        {"authorization": "Bearer wrong", "x_api_key": ADA},
    ],
)
def test_a_token_is_a_bearer_token_or_the_key_of_an_sdk(headers: dict[str, str]) -> None:
    credentials = Credentials(START, {DIGEST: Caller("ada", "acme")})
    assert caller_of(scope(OUTSIDE, **headers), credentials) == Caller("ada", "acme")
    assert unauthenticated(scope(OUTSIDE, **headers), credentials) is None


@pytest.mark.parametrize(
    "headers",
    [
        *({}, {"authorization": ADA}, {"authorization": f"Basic {ADA}"}, {"authorization": "Bearer "}),
        *({"x_api_key": ""}, {"cookie": f"token={ADA}"}, {"x_auth_scheme": "langsmith"}),
        {"authorization": f"Bearer {START}"},
    ],
    ids=repr,
)
def test_off_this_machine_nobody_gets_in_otherwise(headers: dict[str, str]) -> None:
    credentials = Credentials(START, {DIGEST: Caller("ada", "acme")})
    refused = unauthenticated(scope(OUTSIDE, **headers), credentials)
    assert refused is not None
    assert refused.status == 401


@pytest.mark.parametrize(
    ("server", "scheme", "refused"),
    [(LOCAL, "http", False), (OUTSIDE, "http", True), (OUTSIDE, "https", False), (None, "http", True)],
)
def test_the_page_is_for_https_alone_from_elsewhere(server: Any, scheme: str, refused: bool) -> None:
    assert bool(in_the_clear({**scope(server, "/page/runs"), "scheme": scheme})) == refused


@pytest.mark.parametrize("path", ["/pages", "/threads/page/x", "/pagex/../page", "/runs", "//page/x"])
def test_what_is_not_below_the_page_wants_a_token(path: str) -> None:
    assert not is_page(scope(path=path))
    assert unauthenticated(scope(path=path), Credentials(START, {})) is not None
