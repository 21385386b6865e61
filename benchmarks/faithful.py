"""`faithful`: what a server gets is what the arguments of the call said, or the call is refused unsent.

Random arguments, hostile ones among them, go through `mail.send` to a real SMTP server and through
`http.request` and `channel.post` to a real web server. A call fails when a server gets anything else than
the arguments said, when a refused call has reached a server, when a request that changes something arrives
at a host it was redirected to, or when anything but a refusal breaks a call off. Prints the figures and the
seed, writes `faithful.json`, and exits with 1 on any failure.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from benchmarks import faithful_mails, faithful_requests
from benchmarks.faithful_mails import open_inbox, random_mail
from benchmarks.faithful_requests import open_web, random_request, random_text
from planwright.capabilities.builtin import channel, http
from planwright.capabilities.builtin.mail import smtp
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.domain.errors import PlanwrightError
from planwright.records.stores import open_stores
from planwright.security.egress.network import Network
from planwright.security.jail import Jail
from planwright.settings.settings import load

Args = dict[str, Any]
Change = Callable[[Args], Args]
CHANNELS = {"team": "/hook", "query": "/hook?a=b&c=%20", "beyond": "/é", "dots": "/hook/../other"}


@dataclass(frozen=True)
class Failure:
    """What differs of one call, and its arguments."""

    capability: str
    what: str
    args: str


@dataclass
class Sweep:
    """What came of some calls."""

    arrived: int = 0
    refused: int = 0
    refusals: dict[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)

    def fail(self, tried: Capability, what: str, args: Args) -> None:
        """Note a failure."""
        self.failures.append(Failure(tried.name, what[:300], ascii(args)[:1000]))


async def sweep_mails(folder: Path, count: int, seed: int, change: Change = dict) -> Sweep:
    """Send random mails; `change` is a defect, between the arguments and the call."""
    made, rng = Sweep(), random.Random(seed)
    async with open_inbox() as inbox:
        mail = {"host": "127.0.0.1", "port": inbox.port, "from": faithful_mails.SENDER, "security": "none"}
        with _world(folder, mail=mail, egress={"allow": [f"127.0.0.1:{inbox.port}"]}) as world:
            workspace = world.settings.workspace
            for number in range(count):
                args = random_mail(rng, workspace)
                before = inbox.connections
                inbox.taken.clear()
                sent = await _call(smtp.send, change(args), world, number, made)
                if sent and len(inbox.taken) == 1:
                    what = faithful_mails.differences(args, workspace, inbox.taken[0])
                    made.arrived += 1
                else:
                    what = ["not once"] if sent or inbox.connections != before else []
                if what:
                    made.fail(smtp.send, ", ".join(what), args)
                for path in args["attachments"]:
                    (workspace / path).unlink()
    return made


async def sweep_requests(folder: Path, count: int, seed: int, change: Change = dict) -> Sweep:
    """Send random requests, one in eight to a channel; one in six is redirected to another listed host."""
    made, rng = Sweep(), random.Random(seed)
    async with open_web() as web, open_web() as other:
        places = [f"{host}:{port}" for host in ("127.0.0.1", "localhost") for port in (web.port, other.port)]
        urls = {name: {"url": f"http://127.0.0.1:{web.port}{path}"} for name, path in CHANNELS.items()}
        egress = {"allow": places, "idempotent": places if seed % 2 else []}
        with _world(folder, channels=urls, egress=egress) as world:
            for number in range(count):
                posted = rng.random() < 1 / 8
                tried = channel.post if posted else http.request
                args = _random_post(rng) if posted else random_request(rng, web.port)
                web.redirect = None
                if rng.random() < 1 / 6:
                    status = rng.choice((301, 302, 303, 307, 308))
                    web.redirect = (status, f"http://127.0.0.1:{other.port}/elsewhere")
                before = web.connections
                web.got.clear()
                other.got.clear()
                sent = await _call(
                    tried, change(args), world, number, made, redirected=web.redirect is not None
                )
                what = _wrong(_as_request(args, urls) if posted else args, web, other)
                if sent and not web.got:
                    what.append("not sent")
                if not sent and not web.got and web.connections != before:
                    what.append("refused after it was sent")
                if not sent and web.got and web.redirect is None:
                    what.append("refused after it was sent")
                made.arrived += bool(web.got)
                if what:
                    made.fail(tried, ", ".join(what), args)
    return made


def _wrong(args: Args, web: faithful_requests.Web, other: faithful_requests.Web) -> list[str]:
    """List what is wrong with what two servers got; the other is one nobody named."""
    what = [part for got in web.got for part in faithful_requests.differences(args, web.port, got)]
    what += ["sent twice"] * (len(web.got) > 1)
    if any(got.body or got.method not in ("GET", "HEAD") for got in other.got):
        what.append("sent on to another host")
    return what


def _random_post(rng: random.Random) -> Args:
    return {"text": random_text(rng), "channel": rng.choice([*CHANNELS, "unknown"])}


def _as_request(args: Args, urls: dict[str, dict[str, str]]) -> Args:
    """Write a post to a channel as the request it is."""
    url = urls.get(args["channel"], {"url": "http://unknown/"})["url"]
    return {"method": "POST", "url": url, "headers": {"content-type": "application/json"}, "data": args}


async def _call(
    tried: Capability, args: Args, world: CallContext, number: int, made: Sweep, *, redirected: bool = False
) -> bool:
    """Check and call as the gateway does; say whether it came back with a result."""
    key = hashlib.sha256(str(number).encode()).hexdigest()
    call = world.for_call("acme", "run_1", key)
    try:
        values = tried.args.model_validate(args)
        tried.check(values.model_dump(mode="json"), call)
        await tried.function(**dict(values), **{str(tried.context_parameter): call})
        return True
    except (PlanwrightError, ValidationError) as error:
        made.refused += not redirected
        cause = type(error).__name__
        made.refusals[cause] = made.refusals.get(cause, 0) + 1
    except Exception as error:  # noqa: BLE001 - that only refusals come out is what is tested
        made.fail(tried, f"{type(error).__name__} came out: {error}", args)
    return False


@contextmanager
def _world(folder: Path, **flags: Any) -> Iterator[CallContext]:
    """Open a workspace with settings."""
    workspace = folder / "workspace"
    workspace.mkdir(parents=True)
    stores = open_stores(folder / "store")
    settings = load(workspace, **flags)
    jail, network = Jail(settings.workspace), Network(settings.egress)
    yield CallContext(settings, jail, stores.memories, file_versions=stores.file_versions, network=network)
    stores.close()


def main() -> int:
    """Sweep both, and return the exit code."""
    options = _options()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="faithful-") as folder:
        mails = asyncio.run(sweep_mails(Path(folder) / "mails", options.mails, options.seed))
        requests = asyncio.run(sweep_requests(Path(folder) / "requests", options.requests, options.seed))
    failures = [*mails.failures, *requests.failures]
    figures: dict[str, Any] = {"seed": options.seed}
    for name, count, made in (("mails", options.mails, mails), ("requests", options.requests, requests)):
        figures[name] = count
        figures[f"{name}_arrived"], figures[f"{name}_refused"] = made.arrived, made.refused
        figures[f"{name}_refusals"] = made.refusals
    figures |= {"failures": len(failures), "seconds": round(time.perf_counter() - started, 1)}
    options.json.write_text(json.dumps(figures, indent=2) + "\n")
    print(", ".join(f"{name} {value}" for name, value in figures.items()))
    for failure in failures[:20]:
        print(f"  {asdict(failure)}")
    # Were all of them refused, or none, the arguments would show nothing.
    enough = all(made.arrived > made.refused > 0 for made in (mails, requests))
    return int(bool(failures) or not enough)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--mails", type=int, default=10_000)
    parser.add_argument("--requests", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, default=Path("faithful.json"))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
