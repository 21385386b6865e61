"""The default policy: allow, ask or deny, by mode and host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import JsonValue

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.capabilities.policy.decide import decide, host_of, on_egress_list

MakeWorld = Callable[..., CallContext]


def declare(mode: Any, **options: Any) -> Capability:
    def act(url: str = "http://a.example/x") -> str:
        """Do something."""
        return url

    return capability("a.b", mode=mode, **options)(act)


def host(args: Any, call: CallContext) -> list[str]:
    return [host_of(args["url"])]


def check(args: Any, call: CallContext) -> None:
    """Let everything pass."""


@pytest.mark.parametrize(
    ("mode", "answer", "reason"),
    [
        ("read_only", "allow", "read_only is allowed"),
        ("local_write", "allow", "local_write is allowed"),
        ("delegated", "ask", "delegated always needs a person"),
        ("destructive", "ask", "destructive always needs a person"),
        (None, "ask", "destructive always needs a person (it declares no mode)"),
        ("network", "ask", "the host it reaches is not known beforehand"),
    ],
)
def test_the_mode_decides(make_world: MakeWorld, mode: Any, answer: str, reason: str) -> None:
    ruling = decide(declare(mode), {}, make_world())
    assert (ruling.answer, ruling.reason) == (answer, reason)


@pytest.mark.parametrize(
    ("allow", "url", "answer"),
    [
        (["a.example"], "http://a.example/x", "allow"),
        (["a.example:80"], "http://a.example/x", "allow"),
        (["a.example:443"], "https://a.example/x", "allow"),
        (["a.example:8080"], "http://a.example:8080/", "allow"),
        (["a.example"], "http://A.EXAMPLE/x", "allow"),
        (["::1"], "http://[::1]:80/", "allow"),
        ([], "http://a.example/x", "ask"),
        (["a.example:443"], "http://a.example/x", "ask"),
        (["a.example"], "http://b.a.example/x", "ask"),
        (["a.example"], "http://a.example.evil.example/x", "ask"),
        (["a.example"], "http://a.example@evil.example/x", "ask"),
        (["a.example"], "http://evil.example/a.example", "ask"),
        ([], "http:///x", "ask"),
        (["[::1]:80"], "http://[::1]/", "allow"),
        (["::1:80"], "http://[::1]/", "ask"),
        (["[::1]"], "http://[0:0:0:0:0:0:0:1]:8000/", "allow"),
        (["127.0.0.1"], "http://127.0.0.1:8000/", "allow"),
        (["127.0.0.1"], "http://2130706433/", "ask"),
    ],
)
def test_a_network_call_is_allowed_to_listed_hosts(
    make_world: MakeWorld, allow: list[str], url: str, answer: str
) -> None:
    found = declare("network", hosts=host)
    assert decide(found, {"url": url}, make_world(egress={"allow": allow})).answer == answer


@pytest.mark.parametrize(("preflight", "answer"), [(None, "ask"), (check, "allow")])
def test_a_host_that_comes_from_a_reference_needs_a_check_of_its_own(
    make_world: MakeWorld, preflight: Any, answer: str
) -> None:
    found = declare("network", hosts=lambda args, call: ["a.example:80"], preflight=preflight)
    world = make_world(egress={"allow": ["a.example"]})
    args: dict[str, JsonValue] = {"url": "{{steps.s1.output.url}}"}
    assert decide(found, args, world, references=True).answer == answer


def test_one_unlisted_host_of_several_asks_and_is_named(make_world: MakeWorld) -> None:
    found = declare("network", hosts=lambda args, call: ["a.example:80", "b.example:80"])
    ruling = decide(found, {}, make_world(egress={"allow": ["a.example"]}))
    assert (ruling.answer, ruling.reason) == ("ask", "b.example:80 is not in egress.allow")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.example", "a.example:80"),
        ("https://a.example/x?y#z", "a.example:443"),
        ("http://a.example:8080/", "a.example:8080"),
        ("https://user:secret@a.example/", "a.example:443"),
        ("http://[::1]:8000/", "[::1]:8000"),
    ],
)
def test_the_host_of_a_url_has_a_port_and_no_secrets(url: str, expected: str) -> None:
    assert host_of(url) == expected


def test_a_host_is_listed_with_or_without_its_port() -> None:
    assert on_egress_list("a.example:80", ["a.example"])
    assert on_egress_list("a.example:80", ["a.example:80"])
    assert not on_egress_list("a.example:81", ["a.example:80"])
    assert not on_egress_list("a.example:80", ["*", "example"])
