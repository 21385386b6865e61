"""Hostile and good URLs, and DNS that changes between every two looks, against the guard of `http.request`.

A hostile URL has to be refused, and no connection may even be tried but to public addresses; what
is tried all the same ends at a catcher. Each is asked for through `http.request`, and through the
client that any capability gets. Prints the numbers and the seed, writes `ssrf.json`, and exits with 1
on any failure.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from benchmarks.rebinding import interleave
from benchmarks.ssrf_peers import Connector, Dns, World, open_world
from benchmarks.ssrf_urls import Case
from planwright.capabilities.builtin import http
from planwright.capabilities.call_context import CallContext
from planwright.domain.errors import CapabilityError, CapabilityForbidden, CapabilityRejected
from planwright.records.stores import open_stores
from planwright.security.egress.network import Network
from planwright.security.jail import Jail
from planwright.settings.settings import load

HERE = Path(__file__).parent
NAMES = (
    *(f"{name}.example" for name in "web www start other api xn--bcher-kva n0 n1 n2".split()),
    *("1.1.1.1", "2606:4700:4700::1111"),
)
# Slips among them, and redirects to public hosts that nobody listed: another URL may be tried instead.
MENDABLE = ("not http(s)", "in disguise", "a redirect", "a redirect of a POST")
LEAST = {"hostile": 400, "good": 50, "interleavings": 10_000}


def main() -> int:
    """Play everything and return the exit code."""
    options = _options()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="ssrf-") as folder:
        figures, failures = asyncio.run(play(options.interleavings, options.seed, Path(folder)))
    figures |= {
        "failures": len(failures),
        "seed": options.seed,
        "seconds": round(time.perf_counter() - started),
    }
    options.json.write_text(json.dumps(figures, indent=2) + "\n")
    print(", ".join(f"{name} {value}" for name, value in figures.items()))
    for failure in failures[:20]:
        print(f"  {failure}")
    short = [
        name for name, least in LEAST.items() if figures[name] < least and options.interleavings == 10_000
    ]
    return int(bool(failures or short))


async def play(
    interleavings: int, seed: int, folder: Path, guard: type[Network] = Network
) -> tuple[dict[str, int], list[str]]:
    """Play hostile URLs, good ones and interleavings; return the numbers and what failed.

    `guard` is the network that is tested; with a broken one this has to fail.
    """
    stores = open_stores(folder / "store")
    settings = load(folder)
    base = CallContext(settings, Jail(settings.workspace), stores.memories)
    hostile, good = read_cases("ssrf_hostile.jsonl"), read_cases("ssrf_good.jsonl")
    failures = []
    async with open_world(*NAMES) as world:
        for case in hostile:
            failures += [f"{case}: {what}" for what in await wrong_with_hostile(case, base, world, guard)]
        for case in good:
            failures += [f"{case}: {what}" for what in await wrong_with_good(case, base, world)]
        tally = await interleave(interleavings, seed, base, world, guard)
        failures += ["the catcher was reached"] * len(world.caught)
    stores.close()
    figures = {"hostile": len(hostile), "good": len(good), "interleavings": interleavings}
    figures |= {name: getattr(tally, name) for name in ("answered", "refused", "unreachable", "connections")}
    return figures, failures + tally.wrong


def read_cases(name: str) -> list[Case]:
    """Read the cases of a file."""
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]


def equip(
    case: Case, base: CallContext, world: World, guard: type[Network] = Network
) -> tuple[CallContext, Connector]:
    """Give a call the network of a case."""
    egress = base.settings.egress.model_copy(
        update={name: tuple(case.get(name, ())) for name in ("allow", "idempotent")}
    )
    settings = base.settings.model_copy(update={"egress": egress})
    dns, connector = Dns(case.get("dns", {})), world.connector(case.get("private", ()))
    network = guard(egress, resolve=dns.resolve, connector=connector, ssl_context=world.client_context)
    return replace(base, settings=settings, network=network, idempotency_key="key-1"), connector


def url_of(case: Case) -> str:
    """Write the URL of a case; that of a redirect asks the web server to send it on."""
    if "location" not in case:
        return str(case["url"])
    asked = httpx.QueryParams({"status": case["status"], "to": case["location"]})
    return f"{case['url']}?{asked}"


async def wrong_with_hostile(case: Case, base: CallContext, world: World, guard: type[Network]) -> list[str]:
    """Ask for a hostile URL in both ways; say what went wrong.

    `http.request` has to refuse it. A client of a user's own may follow a redirect to a public host
    that nobody listed; that no connection was tried to any other has to hold for it, too.
    """
    wrong = []
    call, connector = equip(case, base, world, guard)
    try:
        said = await _by_capability(case, call)
        wrong.append(f"came through with {str(said)[:200]}")
    except CapabilityForbidden:
        pass
    except CapabilityRejected as error:
        if case["why"] not in MENDABLE:
            wrong.append(f"refused, but not for good: {error.cause}")
    except CapabilityError as error:
        wrong.append(f"{type(error).__name__}: {error}")
    wrong += [f"http.request tried {place}" for place in connector.inside]
    call, connector = equip(case, base, world, guard)
    with contextlib.suppress(CapabilityRejected, httpx.InvalidURL, httpx.HTTPError):
        await _by_client(case, call)
    return wrong + [f"a client tried {place}" for place in connector.inside]


async def wrong_with_good(case: Case, base: CallContext, world: World) -> list[str]:
    """Ask for a good URL; it has to arrive at its host, by name and by certificate."""
    call, connector = equip(case, base, world)
    try:
        said = await _by_capability(case, call)
    except CapabilityError as error:
        return [f"{type(error).__name__}: {error}"]
    wrong = [f"tried {place}" for place in connector.inside]
    arrived = {"status": said.status, "url": said.url, "host": "", "method": "HEAD"}
    if isinstance(said.data, dict):
        arrived |= {"host": said.data["headers"]["host"], "method": said.data["method"]}
    return wrong + [
        f"{name} is {arrived[name]!r}, not {value!r}"
        for name, value in {"status": 200, **case["expect"]}.items()
        if arrived[name] != value
    ]


async def _by_capability(case: Case, call: CallContext) -> Any:
    args = {"url": url_of(case), "method": case.get("method", "GET")}
    return await http.request.function(call=call, **args)


async def _by_client(case: Case, call: CallContext) -> None:
    async with call.http() as client:
        await client.request(case.get("method", "GET"), url_of(case), follow_redirects=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--interleavings", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, default=Path("ssrf.json"))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
