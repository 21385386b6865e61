"""A world of loopback servers around a guarded network."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest

from benchmarks.ssrf_peers import Connector, Dns, World, open_world
from planwright.security.egress.network import Network
from planwright.settings.egress import EgressSettings


@dataclass
class Stage:
    """A guarded network, the DNS it asks, and what it connects to."""

    network: Network
    dns: Dns
    connector: Connector
    world: World


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world("a.example", "8.8.8.8") as opened:
        yield opened
        assert not opened.caught, "the catcher was reached"


@pytest.fixture
def stage(world: World) -> Callable[..., Stage]:
    """Make a network; `answers` are those of DNS for `a.example`, call by call."""

    def make(*answers: list[str], allow: tuple[str, ...] = (), private: tuple[str, ...] = ()) -> Stage:
        dns = Dns({"a.example": list(answers)} if answers else {})
        connector = world.connector(private)
        network = Network(
            EgressSettings(allow=allow),
            resolve=dns.resolve,
            connector=connector,
            ssl_context=world.client_context,
        )
        return Stage(network, dns, connector, world)

    return make
