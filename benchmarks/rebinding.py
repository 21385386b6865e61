"""Interleavings of requests with DNS answers that change between every two looks.

Each interleaving has its own names and clients: some requests follow each other on one connection,
some run at the same time, some are redirected (also to where the name is looked up again), some are
tried again. Whatever happens, nothing but a public address may be connected to, and what was
answered has to come from the host that was asked.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field, replace
from ipaddress import ip_address

import httpx

from benchmarks.ssrf_peers import DOWN, PUBLIC, Connector, Dns, World
from planwright.capabilities.builtin import http
from planwright.capabilities.call_context import CallContext
from planwright.domain.errors import CapabilityRejected, CapabilityUnavailable
from planwright.security.egress.network import Network

INSIDE = (
    "127.0.0.1 10.0.0.1 172.16.0.1 192.168.0.1 169.254.169.254 100.64.0.1 168.63.129.16 0.0.0.0 224.0.0.1"
    " ::1 fd00::1 fe80::1 ::ffff:127.0.0.1 64:ff9b::7f00:1 2002:7f00:1:: fe80::1%lo"
).split()
RETRIES = 2


@dataclass
class Tally:
    """What became of the requests, how many connections were made, and what went wrong."""

    answered: int = 0
    refused: int = 0
    unreachable: int = 0
    connections: int = 0
    wrong: list[str] = field(default_factory=list)


async def interleave(
    count: int, seed: int, base: CallContext, world: World, guard: type[Network] = Network
) -> Tally:
    """Play so many interleavings; number and seed make each again."""
    tally = Tally()
    for number in range(count):
        rng = random.Random(f"{seed}:{number}")
        wrong = await play(rng, base, world, tally, guard)
        tally.wrong += [f"interleaving {number} of seed {seed}: {what}" for what in wrong]
    return tally


async def play(
    rng: random.Random, base: CallContext, world: World, tally: Tally, guard: type[Network]
) -> list[str]:
    """Play one interleaving and say what went wrong."""
    names = [f"n{n}.example" for n in range(rng.randint(1, 3))]
    dns = Dns({name: [_answers(rng) for _ in range(rng.randint(2, 6))] for name in names})
    connector = world.connector()
    network = guard(
        base.settings.egress, resolve=dns.resolve, connector=connector, ssl_context=world.client_context
    )
    call = replace(base, network=network)
    async with call.http(5) as client:
        for _ in range(rng.randint(1, 3)):
            together = [
                _by_client(client, _url(rng, names), tally)
                if rng.random() < 0.5
                else _by_capability(call, _url(rng, names), tally)
                for _ in range(rng.choice((1, 1, 2, 3)))
            ]
            await asyncio.gather(*together)
    tally.connections += len(connector.attempts)
    return [f"tried {place}" for place in connector.inside] + _unlooked(connector, dns)


def _answers(rng: random.Random) -> list[str]:
    """Make one answer of DNS: public, inside, mixed, down, or none at all."""
    kind = rng.random()
    public = rng.sample(sorted(PUBLIC), rng.randint(1, 3))
    if kind < 0.45:
        return public
    if kind < 0.70:
        return [rng.choice(INSIDE)]
    if kind < 0.85:
        mixed = [*public, rng.choice(INSIDE)]
        rng.shuffle(mixed)
        return mixed
    return [DOWN, *public] if kind < 0.95 else []


def _url(rng: random.Random, names: list[str]) -> str:
    """Write a URL that leads to its host at once, or over a redirect to itself or to another name."""
    scheme = "https" if rng.random() < 0.1 else "http"
    start = f"{scheme}://{rng.choice(names)}{rng.choice((':8080', '')) if scheme == 'http' else ''}"
    path = rng.choice(("/", "/close"))
    if rng.random() < 0.5:
        return start + path
    other = f"http://{rng.choice(names)}/"
    upgraded = start.replace("http://", "https://").removesuffix(":8080")
    to = rng.choice((other, upgraded, "/again", f"http://{rng.choice(INSIDE[:9])}/", "//localhost/"))
    return f"{start}{path}?{httpx.QueryParams({'status': rng.choice((301, 302, 303, 307, 308)), 'to': to})}"


async def _by_client(client: httpx.AsyncClient, url: str, tally: Tally) -> None:
    try:
        reply = await client.get(url, follow_redirects=True)
    except (CapabilityRejected, httpx.InvalidURL):
        tally.refused += 1
    except httpx.HTTPError:
        tally.unreachable += 1
    else:
        _answered(str(reply.json()["headers"]["host"]), reply.url, tally)


async def _by_capability(call: CallContext, url: str, tally: Tally) -> None:
    for _ in range(1 + RETRIES):
        try:
            said = await http.request.function(url=url, call=call)
        except CapabilityUnavailable:
            tally.unreachable += 1
        except CapabilityRejected:
            tally.refused += 1
            return
        else:
            _answered(said.data["headers"]["host"], httpx.URL(said.url), tally)
            return


def _answered(host: str, url: httpx.URL, tally: Tally) -> None:
    tally.answered += 1
    if host != url.netloc.decode():
        tally.wrong.append(f"{url} was answered as {host}")


def _unlooked(connector: Connector, dns: Dns) -> list[str]:
    """Find connections to addresses that no answer named."""
    named = {
        ip_address(a) for answers in dns.script.values() for answer in answers for a in answer if "%" not in a
    }
    return [f"tried {host} unasked" for host, _ in connector.attempts if ip_address(host) not in named]
