"""http.request, against a web server on the loopback that is listed: policy, risk, faults and answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from benchmarks.ssrf_peers import Dns, listening
from planwright.capabilities.arguments import check_arguments
from planwright.capabilities.builtin.http import request
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.policy.decide import decide
from planwright.domain.errors import (
    CapabilityError,
    CapabilityForbidden,
    CapabilityRejected,
    CapabilityUnavailable,
    EffectInDoubt,
)
from planwright.records.consent.gate import Decision, Gate, gate_id
from planwright.records.plans import RunnablePlan
from planwright.security.egress.network import Network
from planwright.settings.egress import EgressSettings
from tests.loop_clock import LoopClock

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MakeWorld = Callable[..., CallContext]
MakeBench = Callable[..., Awaitable[Any]]
LISTED = {"egress": {"allow": ["a.example"], "idempotent": ["a.example"]}}
REFERENCE = "{{steps.s1.output.url}}"


@asynccontextmanager
async def serving(*replies: bytes) -> AsyncIterator[tuple[str, list[bytes]]]:
    """Send each connection the next reply; an empty one hangs up. Yields where, and what was asked."""
    asked: list[bytes] = []
    left = list(replies)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        size = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
        asked.append(head + await reader.readexactly(int(size[0].split(b":")[1]) if size else 0))
        writer.write(left.pop(0) if len(left) > 1 else left[0])

    async with listening(answer) as port:
        yield f"127.0.0.1:{port}", asked


def reply(status: int, body: bytes = b"{}", kind: str = "application/json", *rows: str) -> bytes:
    head = [f"HTTP/1.1 {status} Said", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *rows]
    return "\r\n".join([*head, "Connection: close", "", ""]).encode() + body


def args(url: str = "http://a.example/x", **more: Any) -> dict[str, Any]:
    return {"url": url, **more}


@pytest.mark.parametrize(
    ("given", "risk", "effect"),
    [
        (args(), "Low", "pure"),
        (args(method="HEAD"), "Low", "pure"),
        (args(REFERENCE), "Low", "pure"),
        (args(method="POST"), "High", "idempotent"),
        (args("http://b.example/", method="POST"), "High", "blind"),
        (args("https://a.example/{{steps.s1.output.id}}", method="PUT"), "High", "idempotent"),
        (args(REFERENCE, method="POST"), "High", "blind"),
        (args(method="{{steps.s1.output.method}}"), "High", "idempotent"),
        (args(REFERENCE, method=REFERENCE), "High", "blind"),
    ],
)
def test_risk_and_effect_follow_from_method_and_host(
    make_world: MakeWorld, given: dict[str, Any], risk: str, effect: str
) -> None:
    narrowed = request.narrowed(given, make_world(**LISTED))
    assert (narrowed.risk, narrowed.effect, narrowed.mode) == (risk, effect, "network")


@pytest.mark.parametrize(
    ("url", "answer"),
    [
        ("http://a.example/x", "allow"),
        ("https://a.example/{{steps.s1.output.id}}", "allow"),
        ("https://a.example?q={{steps.s1.output.id}}", "allow"),
        ("https://b.example/", "ask"),
        (REFERENCE, "ask"),
        ("https://a.example{{steps.s1.output.host}}/", "ask"),
        ("https://{{steps.s1.output.host}}/a.example/", "ask"),
    ],
)
def test_policy_allows_listed_hosts_and_asks_about_any_other(
    make_world: MakeWorld, url: str, answer: str
) -> None:
    assert decide(request, args(url), make_world(**LISTED)).answer == answer


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://localhost/",
        "http://169.254.169.254/latest",
        "http://user@a.example/",
        "http://a.example:22/",
        "http://10.0.0.1/{{steps.s1.output.id}}",
    ],
)
def test_a_hostile_place_is_refused_before_anything_is_shown(make_world: MakeWorld, url: str) -> None:
    with pytest.raises(CapabilityForbidden):
        request.check(args(url), make_world(**LISTED))


@pytest.mark.parametrize(
    ("more", "why"),
    [
        *(
            ({"headers": {name: "x"}}, "not yours to set")
            for name in ("Host", "content-length", "Connection")
        ),
        *(({"headers": {name: "x"}}, "not yours to set") for name in ("Transfer-Encoding", "TE", "Upgrade")),
        *(
            ({"headers": {name: "x"}}, "not yours to set")
            for name in ("X-HTTP-Method-Override", "X-Forwarded-Host", "Forwarded", "X-Original-URL", "Via")
        ),
        *(
            ({"headers": {name: "x"}}, "not yours to set")
            for name in ("Proxy-Authorization", "Idempotency-Key")
        ),
        *(({"headers": {name: "x"}}, "no header") for name in ("", "a b", "a:b", "a\r\nb", "ä", "a\0")),
        *(
            ({"headers": {"a": value}}, "no header")
            for value in ("x\r\nHost: y", "x\ny", "x\0", "x\x7f", "€")
        ),
        ({"body": "x"}, "have no body"),
        ({"data": {"x": 1}, "method": "HEAD"}, "have no body"),
        ({"data": 0, "body": "", "method": "POST"}, "body and data"),
    ],
)
def test_what_may_not_be_sent_is_refused_before_anything_is_shown(
    make_world: MakeWorld, more: dict[str, Any], why: str
) -> None:
    with pytest.raises(CapabilityRejected, match=why):
        request.check(args(**more), make_world(**LISTED))


async def test_a_header_that_a_reference_brings_is_checked_when_it_is_known(make_world: MakeWorld) -> None:
    hidden = {"X-A": "{{steps.s1.output.a}}\r\nHost: b.example"}
    request.check(args(headers=hidden), make_world(**LISTED))
    with pytest.raises(CapabilityRejected, match="no header"):
        await request.function("http://a.example/", make_world(**LISTED), headers=hidden)


@pytest.mark.enable_socket
async def test_a_page_is_fetched_and_its_answer_told(make_bench: MakeBench) -> None:
    found = reply(200, b'{"a": [1, "\xc3\xbc"]}', "application/json", "ETag: x", "Set-Cookie: secret=1")
    async with serving(found) as (place, asked):
        bench = await make_bench(request, egress={"allow": [place]})
        answer = await bench.call(
            "http.request", url=f"http://{place}/p?q=1", headers={"Accept": "text/html"}
        )
    assert answer["data"] == {"a": [1, "ü"]}
    assert json.loads(answer["text"]) == answer["data"]
    assert (answer["status"], answer["url"]) == (200, f"http://{place}/p?q=1")
    assert answer["headers"] == {"content-type": "application/json", "etag": "x"}
    assert asked[0].startswith(b"GET /p?q=1 HTTP/1.1\r\n")
    assert b"accept: text/html\r\n" in asked[0].lower()
    assert bench.effects() == []


@pytest.mark.enable_socket
@pytest.mark.parametrize(
    ("more", "sent", "kind"),
    [({"data": {"a": 1}}, b'{"a": 1}', b"application/json"), ({"body": "grüß"}, "grüß".encode(), b"")],
)
async def test_what_is_posted_arrives_and_is_on_record(
    make_bench: MakeBench, more: dict[str, Any], sent: bytes, kind: bytes
) -> None:
    async with serving(reply(201)) as (place, asked):
        bench = await make_bench(request, egress={"allow": [place]})
        answer = await bench.call("http.request", url=f"http://{place}/", method="POST", **more)
    assert answer["status"] == 201
    assert asked[0].endswith(b"\r\n\r\n" + sent)
    assert kind in asked[0]
    assert b"idempotency-key" not in asked[0].lower()
    assert bench.effects() == [("http.request", "done")]


@pytest.mark.enable_socket
async def test_a_host_that_honours_keys_is_asked_again_under_the_same_key(make_bench: MakeBench) -> None:
    async with serving(reply(503), b"", reply(200)) as (place, asked):
        bench = await make_bench(request, egress={"allow": [place], "idempotent": [place]})
        answer = await bench.call("http.request", url=f"http://{place}/", method="POST")
    keys = {
        line for head in asked for line in head.lower().split(b"\r\n") if line.startswith(b"idempotency-key")
    }
    assert answer["status"] == 200
    assert (len(asked), len(keys)) == (3, 1)
    assert [attempt for attempt, _ in bench.retries] == [1, 2]
    assert bench.effects() == [("http.request", "done")]


FAULTS: list[tuple[str, bytes, type[CapabilityError]]] = [
    ("GET", reply(404, b"no such page"), CapabilityRejected),
    ("GET", reply(500), CapabilityUnavailable),
    ("GET", reply(429), CapabilityUnavailable),
    ("GET", reply(408), CapabilityUnavailable),
    ("GET", b"", CapabilityUnavailable),
    ("GET", b"HTTP/9 what\r\n\r\n", CapabilityUnavailable),
    ("GET", reply(200, b"\x89PNG", "image/png"), CapabilityRejected),
    ("GET", reply(302, b""), CapabilityRejected),
    ("GET", reply(302, b"", "text/html", "Location: /again"), CapabilityRejected),
    ("POST", reply(400), CapabilityRejected),
    ("POST", reply(429), CapabilityUnavailable),
    ("POST", reply(500), EffectInDoubt),
    ("POST", reply(408), EffectInDoubt),
    ("POST", b"", EffectInDoubt),
    ("POST", reply(200)[:-1], EffectInDoubt),
]


@pytest.mark.enable_socket
@pytest.mark.parametrize(("method", "answer", "kind"), FAULTS)
async def test_a_fault_is_sorted_by_what_can_have_happened(
    make_world: MakeWorld, method: str, answer: bytes, kind: type[CapabilityError]
) -> None:
    async with serving(answer) as (place, _):
        call = make_world(egress={"allow": [place]})
        with pytest.raises(CapabilityError) as failed:
            await request.function(f"http://{place}/", call, method=method)
    assert type(failed.value) is kind


@pytest.mark.enable_socket
async def test_nobody_listening_means_that_nothing_was_sent(make_world: MakeWorld) -> None:
    async with serving(b"") as (place, _):
        pass
    with pytest.raises(CapabilityUnavailable):
        await request.function(f"http://{place}/", make_world(egress={"allow": [place]}), method="POST")


@pytest.mark.enable_socket
@pytest.mark.parametrize(
    "answer",
    [
        reply(201, b"\x89PNG", "image/png"),
        reply(201, b"x" * 2000, "text/plain"),
        reply(201, b"[" * 900 + b"]" * 900),
        reply(201, b'["\\ud800", NaN]'),
        reply(303, b"", "text/html", "Location: http://127.0.0.1:1/"),
        reply(302, b"", "text/html", "Location: http://[bad"),
    ],
)
async def test_what_was_done_is_done_whatever_the_answer_looks_like(
    make_bench: MakeBench, answer: bytes
) -> None:
    async with serving(answer) as (place, asked):
        bench = await make_bench(request, egress={"allow": [place], "max_bytes": 1800})
        await bench.call("http.request", url=f"http://{place}/", method="POST")
    assert len(asked) == 1
    assert bench.effects() == [("http.request", "done")]


@pytest.mark.enable_socket
@pytest.mark.parametrize(("method", "kind"), [("GET", CapabilityUnavailable), ("POST", EffectInDoubt)])
async def test_an_answer_that_drips_is_given_up(
    make_world: MakeWorld, method: str, kind: type[CapabilityError]
) -> None:
    clock = LoopClock(asyncio.get_running_loop())

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        for _ in range(100):
            writer.write(b".")
            clock.pass_(5)
            await asyncio.sleep(0.02)

    async with listening(drip) as port:
        place = f"127.0.0.1:{port}"
        call = make_world(egress={"allow": [place], "timeout_s": 60})
        with pytest.raises(kind, match=r"egress\.timeout_s"):
            await request.function(f"http://{place}/", call, method=method)


@pytest.mark.enable_socket
async def test_a_redirect_inside_is_forbidden_and_never_asked(make_bench: MakeBench) -> None:
    async with serving(reply(200)) as (inner, asked):
        moved = reply(302, b"", "text/html", f"Location: http://{inner}/")
        async with serving(moved) as (place, _):
            bench = await make_bench(request, egress={"allow": [place]})
            with pytest.raises(CapabilityForbidden, match="loopback"):
                await bench.call("http.request", url=f"http://{place}/")
    assert asked == []
    assert bench.retries == []


async def test_a_call_that_is_graver_than_what_was_approved_is_not_made(make_bench: MakeBench) -> None:
    bench = await make_bench(request, egress={"allow": ["a.example"]})
    site = bench.sites["http.request"]
    milder = site.checked.model_copy(update={"risk": "Low", "effect": "pure"})
    with pytest.raises(CapabilityForbidden, match="was not approved as High, blind"):
        await bench.gateway._permit(
            request, args(method="POST"), replace(site, checked=milder), RunnablePlan()
        )


async def approve(bench: Any, shown: dict[str, Any]) -> None:
    """Open the gate of the request with its arguments, and approve it."""
    uid = bench.sites["http.request"].checked.uid
    gate = Gate(
        gate_id=gate_id("run_1", "step", uid),
        run_id="run_1",
        thread_id="thread_1",
        tenant="acme",
        kind="step",
        step_uid=uid,
        shown_hash="a" * 64,
        card={"args": shown, "pin": bench.sites["http.request"].checked.pin},
        requested_at=NOW,
        expires_at=NOW + timedelta(hours=1),
        status="open",
    )
    await bench.stores.gates.open(gate, bench.sites["http.request"].lease)
    await bench.stores.gates.decide(
        gate.gate_id, Decision(answer="approve", decided_by="sam", channel="test"), NOW
    )


@pytest.mark.parametrize("answer", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1"])
async def test_a_name_that_leads_inside_is_forbidden_though_a_person_approved_it(
    make_bench: MakeBench, answer: str
) -> None:
    bench = await make_bench(request)
    dns = Dns({"a.example": [[answer]]})
    bench.gateway.call_context = replace(
        bench.gateway.call_context, network=Network(EgressSettings(), resolve=dns.resolve)
    )
    await approve(bench, check_arguments(request, args()))
    with pytest.raises(CapabilityForbidden, match=r"a\.example:80 leads to"):
        await bench.call("http.request", **args())
    assert dns.asked == ["a.example"]


@pytest.mark.enable_socket
@pytest.mark.parametrize(
    "changed",
    [
        {"url": "/public/../admin"},
        {"headers": {"X-A": "1", "x-a": "2"}},
        {"headers": {"x-a": " 1"}},
        {"headers": {"x-a": "1\t"}},
        {"data": [float("nan")]},
    ],
)
async def test_what_would_not_be_sent_as_it_is_is_refused_unsent(
    make_world: MakeWorld, changed: dict[str, Any]
) -> None:
    async with serving(reply(200)) as (place, asked):
        call = make_world(egress={"allow": [place]})
        url = f"http://{place}{changed.pop('url', '/')}"
        with pytest.raises(CapabilityRejected):
            await request.function(url, call, method="POST", **changed)
    assert asked == []


@pytest.mark.enable_socket
async def test_a_header_beyond_ascii_arrives_as_it_is(make_world: MakeWorld) -> None:
    async with serving(reply(200)) as (place, asked):
        call = make_world(egress={"allow": [place]})
        await request.function(f"http://{place}/", call, headers={"X-A": "Grüße"})
    assert "\r\nx-a: Grüße\r\n".encode("latin-1") in asked[0]
