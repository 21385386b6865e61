"""Clients of the guarded network, over real connections: resolved once, checked whole, pinned."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import httpcore
import httpx
import pytest

from benchmarks.ssrf_peers import listening
from planwright.domain.errors import CapabilityForbidden
from planwright.security.egress.network import Network
from planwright.security.egress.resolver import system_resolver
from planwright.settings.egress import EgressSettings

if TYPE_CHECKING:
    from tests.security.egress.conftest import Stage

MakeStage = Callable[..., "Stage"]
pytestmark = pytest.mark.enable_socket


async def test_a_name_is_resolved_once_and_its_address_connected_to(stage: MakeStage) -> None:
    it = stage(["93.184.216.34"], ["127.0.0.1"])
    async with it.network.client(5) as client:
        for _ in range(3):
            reply = await client.get("http://a.example:8080/")
            assert reply.json()["headers"]["host"] == "a.example:8080"
    assert it.dns.asked == ["a.example"]
    assert it.connector.attempts == [("93.184.216.34", 8080)]


async def test_tls_is_spoken_with_the_name_and_not_with_the_address(stage: MakeStage) -> None:
    it = stage(["93.184.216.34"])
    async with it.network.client(5) as client:
        reply = await client.get("https://a.example/")
    assert reply.json()["headers"]["host"] == "a.example"
    assert it.world.names == ["a.example"]
    assert it.connector.attempts == [("93.184.216.34", 443)]


async def test_the_certificate_has_to_be_for_the_name(stage: MakeStage) -> None:
    it = stage()
    async with it.network.client(5) as client:
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            await client.get("https://b.example/")
        assert (await client.get("https://8.8.8.8/")).status_code == 200


@pytest.mark.parametrize(
    "answer",
    [
        ["127.0.0.1"],
        ["93.184.216.34", "10.0.0.1"],
        ["10.0.0.1", "93.184.216.34"],
        ["fe80::1%lo"],
        ["nonsense"],
    ],
    ids=str,
)
async def test_one_bad_answer_refuses_the_name(stage: MakeStage, answer: list[str]) -> None:
    it = stage(answer)
    async with it.network.client(5) as client:
        with pytest.raises(CapabilityForbidden, match=r"a\.example.* leads to"):
            await client.get("http://a.example/")
    assert it.connector.attempts == []


async def test_a_new_connection_is_checked_anew(stage: MakeStage) -> None:
    it = stage(["93.184.216.34"], ["169.254.169.254"])
    async with it.network.client(5) as client:
        assert (await client.get("http://a.example/close")).status_code == 200
        with pytest.raises(CapabilityForbidden, match=r"169\.254\.169\.254"):
            await client.get("http://a.example/")
    assert it.connector.attempts == [("93.184.216.34", 80)]


async def test_a_listed_name_may_be_private_but_never_a_metadata_service(stage: MakeStage) -> None:
    it = stage(["10.0.0.1"], ["169.254.169.254"], allow=("a.example",), private=("10.0.0.1",))
    async with it.network.client(5) as client:
        assert (await client.get("http://a.example/close")).status_code == 200
        with pytest.raises(CapabilityForbidden, match="link local"):
            await client.get("http://a.example/")
    assert it.connector.attempts == [("10.0.0.1", 80)]


async def test_the_next_address_is_tried_when_nobody_answers(stage: MakeStage) -> None:
    it = stage(["9.9.9.9", "8.8.8.8"])
    async with it.network.client(5) as client:
        assert (await client.get("http://a.example/")).status_code == 200
    assert [host for host, _ in it.connector.attempts] == ["9.9.9.9", "8.8.8.8"]


async def test_no_more_than_four_addresses_are_tried(stage: MakeStage) -> None:
    it = stage(["9.9.9.9"] * 9)
    async with it.network.client(5) as client:
        with pytest.raises(httpx.ConnectError, match="nobody answers"):
            await client.get("http://a.example/")
    assert len(it.connector.attempts) == 4


async def test_a_name_without_an_address_is_unreachable(stage: MakeStage) -> None:
    it = stage([])
    async with it.network.client(5) as client:
        with pytest.raises(httpx.ConnectError, match=r"a\.example has no address"):
            await client.get("http://a.example/")


async def test_a_resolver_that_does_not_answer_is_given_up() -> None:
    async def never(host: str, port: int) -> Sequence[str]:
        await asyncio.Event().wait()
        return []

    async with Network(EgressSettings(), resolve=never).client(0.05) as client:
        with pytest.raises(httpx.ConnectTimeout, match="not resolved in time"):
            await client.get("http://a.example/")


@pytest.mark.parametrize(
    ("headers", "extensions"),
    [({"Host": "127.0.0.1"}, {}), ({"Host": "b.example"}, {}), ({}, {"sni_hostname": "b.example"})],
)
async def test_a_caller_cannot_say_another_host(
    stage: MakeStage, headers: dict[str, str], extensions: dict[str, str]
) -> None:
    it = stage()
    async with it.network.client(5) as client:
        if headers:
            with pytest.raises(CapabilityForbidden, match="the Host header"):
                await client.get("https://a.example/", headers=headers)
        else:
            await client.get("https://a.example/", extensions=extensions)
            assert it.world.names == ["a.example"]


async def test_redirects_of_a_client_of_your_own_are_checked_too(stage: MakeStage) -> None:
    it = stage()
    async with it.network.client(5) as client:
        asked = {"status": "302", "to": "http://127.0.0.1/"}
        assert (await client.get("http://a.example/", params=asked)).status_code == 302
        with pytest.raises(CapabilityForbidden, match="loopback"):
            await client.get("http://a.example/", params=asked, follow_redirects=True)


async def test_a_proxy_of_the_environment_is_not_used(
    stage: MakeStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    it = stage()
    async with it.network.client(5) as client:
        assert (await client.get("http://a.example/")).status_code == 200


async def test_a_connection_that_breaks_is_told_in_words_of_httpx(stage: MakeStage) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()

    async with listening(hang_up) as port:
        place = f"127.0.0.1:{port}"
        async with Network(EgressSettings(allow=(place,))).client(5) as client:
            with pytest.raises(httpx.RemoteProtocolError):
                await client.get(f"http://{place}/")


def test_every_failure_of_the_pool_has_its_name_in_httpx() -> None:
    named = [
        kind for kind in vars(httpcore).values() if isinstance(kind, type) and issubclass(kind, Exception)
    ]
    known = [kind.__name__ for kind in named if kind.__name__ != "ConnectionNotAvailable"]
    assert len(known) > 10
    assert all(issubclass(getattr(httpx, name), httpx.TransportError) for name in known)


async def test_the_system_knows_this_machine() -> None:
    assert set(await system_resolver("localhost", 80)) <= {"127.0.0.1", "::1"}
