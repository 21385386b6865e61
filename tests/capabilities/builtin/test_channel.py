"""The team channel, against the demo's webhook on the loopback interface."""

from __future__ import annotations

import socket
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planwright.capabilities.builtin import channel
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.policy.decide import decide, host_of
from planwright.domain.errors import CapabilityRejected, CapabilityUnavailable
from planwright.extras.demo.service import Webhook

MakeWorld = Callable[..., CallContext]
MakeBench = Callable[..., Awaitable[Any]]


def flags(url: str, allow: bool = True) -> dict[str, Any]:
    return {"channels": {"team": {"url": url}}, "egress": {"allow": [host_of(url)] if allow else []}}


def rows(log: Path, table: str, columns: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(log)) as db:
        return db.execute(f"SELECT {columns} FROM {table} ORDER BY id").fetchall()


@pytest.mark.enable_socket
async def test_a_message_is_delivered_to_the_channel(make_world: MakeWorld, tmp_path: Path) -> None:
    with Webhook(tmp_path / "hook.db", faults=0) as hook:
        receipt = await channel.post.function("Grüße 🧾", make_world(**flags(hook.url)))
        assert (receipt.channel, receipt.status, receipt.message_id) == ("team", 200, "1")
        assert rows(hook.log, "messages", "text, channel, idempotency_key") == [("Grüße 🧾", "team", "key-1")]


@pytest.mark.enable_socket
async def test_a_503_is_answered_by_another_try_under_the_same_key(
    make_bench: MakeBench, tmp_path: Path
) -> None:
    with Webhook(tmp_path / "hook.db", faults=2) as hook:
        bench = await make_bench(channel.post, **flags(hook.url))
        receipt = await bench.call("channel.post", text="hello")
        requests = rows(hook.log, "requests", "status, idempotency_key")
        messages = rows(hook.log, "messages", "text, idempotency_key")
    assert receipt == {"channel": "team", "status": 200, "message_id": "1"}
    assert [status for status, _ in requests] == [503, 503, 200]
    assert {key for _, key in requests} == {key for _, key in messages}
    assert len(messages) == 1
    assert [attempt for attempt, _ in bench.retries] == [1, 2]
    assert bench.effects() == [("channel.post", "done")]


@pytest.mark.enable_socket
async def test_the_same_key_again_posts_no_second_message(make_world: MakeWorld, tmp_path: Path) -> None:
    with Webhook(tmp_path / "hook.db", faults=0) as hook:
        call = make_world(**flags(hook.url))
        first = await channel.post.function("hello", call)
        assert await channel.post.function("hello", call) == first
        assert len(rows(hook.log, "messages", "id")) == 1


@pytest.mark.enable_socket
async def test_a_channel_that_stays_out_of_order_is_unavailable(
    make_bench: MakeBench, tmp_path: Path
) -> None:
    with Webhook(tmp_path / "hook.db", faults=100) as hook:
        bench = await make_bench(channel.post, **flags(hook.url), execution={"step_retries": 1})
        with pytest.raises(CapabilityUnavailable, match="answered 503"):
            await bench.call("channel.post", text="hello")
        assert len(rows(hook.log, "requests", "id")) == 2
    assert bench.effects() == [("channel.post", "failed")]


@pytest.mark.enable_socket
async def test_a_refusal_of_the_channel_is_final(make_bench: MakeBench, tmp_path: Path) -> None:
    with Webhook(tmp_path / "hook.db", faults=0) as hook:
        bench = await make_bench(channel.post, **flags(hook.url.replace("/hooks/team", "/elsewhere")))
        with pytest.raises(CapabilityRejected, match="answered 404"):
            await bench.call("channel.post", text="hello")
        assert len(rows(hook.log, "requests", "id")) == 1


@pytest.mark.enable_socket
async def test_nobody_listening_is_unavailable(make_world: MakeWorld) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/hooks/team"
    with pytest.raises(CapabilityUnavailable, match=r"127\.0\.0\.1:\d+ is unreachable"):
        await channel.post.function("hello", make_world(**flags(url)))


@pytest.mark.parametrize("args", [{}, {"channel": "team"}], ids=str)
def test_a_channel_that_is_not_listed_is_refused_before_anything_is_shown(
    make_world: MakeWorld, args: dict[str, Any]
) -> None:
    world = make_world(**flags("http://team.example/hook", allow=False))
    assert channel.post.preflight is not None
    with pytest.raises(CapabilityRejected, match=r"may not reach team\.example:80") as refused:
        channel.post.preflight(args, world)
    assert refused.value.next_step == 'add it to planwright.toml: [egress] allow = ["team.example:80"]'


def test_a_listed_channel_needs_no_person(make_world: MakeWorld) -> None:
    world = make_world(**flags("https://team.example/hook"))
    assert channel.post.preflight is not None
    channel.post.preflight({"text": "x"}, world)
    assert decide(channel.post, {"text": "x"}, world).answer == "allow"


@pytest.mark.parametrize("name", ["nobody", "", "{{steps.s1.output.channel}}"])
def test_an_unknown_channel_is_refused_with_those_that_are_known(make_world: MakeWorld, name: str) -> None:
    world = make_world(**flags("https://team.example/hook"))
    assert channel.post.preflight is not None
    with pytest.raises(CapabilityRejected, match=r"there is no channel .* \(known: team\)"):
        channel.post.preflight({"channel": name}, world)


@pytest.mark.parametrize("url", ["http://team.example:port/", "http://team.example:99999/", "http://[::1/"])
def test_a_channel_whose_url_is_no_url_is_refused(make_world: MakeWorld, url: str) -> None:
    world = make_world(channels={"team": {"url": url}})
    assert channel.post.preflight is not None
    with pytest.raises(CapabilityRejected):
        channel.post.preflight({"text": "x"}, world)
