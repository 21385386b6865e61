"""Providers that fail in every way, over real HTTP: who serves instead, and what is sent twice -> chaos.json

First every fault strikes at each of three turns of a conversation, at each of three providers, of which
the ones before it are down. Then thousands of requests are made while one provider of three is down, another
every few hundred requests. Prints N, failures and the seed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import urllib.request
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from langchain_core.messages import AIMessage

from benchmarks.fault_server import FAULTS
from benchmarks.model_desk import NAMES, Desk, Traffic, desk_at
from planwright.domain.errors import ModelError

TURNS = (0, 1, 2)
KEY, REJECT, LONG = "KeyRefused", "ModelRejected", "ContextOverflow"
OUTCOMES = dict.fromkeys(FAULTS, "ModelUnavailable")
OUTCOMES |= dict.fromkeys(("401", "402", "403", "429 spent"), KEY)
OUTCOMES |= dict.fromkeys(("400", "404", "418", "422", "redirect"), REJECT)
OUTCOMES |= dict.fromkeys(("413", "overflow in words", "prompt too long"), LONG)
OUTCOMES |= {name: "ModelInterrupted" for name in FAULTS if name.endswith(" later")}
OUTCOMES |= dict.fromkeys(("ok", "stream doubled", "stream drips"), "")
PASSING = (
    "503",
    "529",
    "500",
    "429",
    "408",
    "reset",
    "close",
    "truncated",
    "empty",
    "garbage",
    "error in a 200",
)
SLOW = ("hang", "drips")
SHORT_S, LONG_S = 2.0, 60.0  # what is waited for a fault that never answers, and for all else
SWITCH_EVERY = 250


@dataclass(frozen=True)
class Case:
    """One fault, the turn at which it strikes, and the provider, by its place in the order."""

    fault: str
    turn: int
    place: int

    @property
    def slow(self) -> bool:
        """Whether nothing comes, or too slowly: the case takes as long as the call is given."""
        return any(word in self.fault for word in SLOW)

    @property
    def expected(self) -> str:
        """The class of the error that comes out; empty when somebody serves."""
        outcome = OUTCOMES[self.fault]
        replaced = outcome in ("ModelUnavailable", KEY) and self.place < len(NAMES) - 1
        return "" if replaced else outcome


def cases() -> list[Case]:
    """List every fault at every turn and place."""
    return [Case(fault, turn, place) for fault in FAULTS for turn in TURNS for place in range(len(NAMES))]


@contextmanager
def fault_server() -> Iterator[int]:
    """Run the server in a process of its own; yield its port."""
    started = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.fault_server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    try:
        yield int(started.stdout.readline())
    finally:
        started.communicate(timeout=LONG_S)


def take_down(port: int, provider: str = "-", fault: str = "-") -> dict[str, int]:
    """Let a provider fail from now on; return what each was sent so far."""
    address = f"http://127.0.0.1:{port}/down/{provider}/{fault.replace(' ', '%20')}"
    with urllib.request.urlopen(urllib.request.Request(address, method="POST", data=b"{}")) as reply:
        sent: dict[str, int] = json.load(reply)
    return sent


def addresses(port: int) -> list[str]:
    """Name the three providers that the server plays."""
    return [f"http://127.0.0.1:{port}/{name}/v1" for name in NAMES]


async def play(case: Case, port: int, folder: Path, number: int) -> str:
    """Play one case; return what went otherwise than it should, or nothing."""
    names = ["503"] * case.place + [f"{case.fault}@{case.turn}"] + ["ok"] * (len(NAMES) - case.place - 1)
    limits = {"failover": {"retries": 1, "base_ms": 1}, "execution": {"step_timeout_s": 5}}
    idle_s = SHORT_S if case.slow else LONG_S
    async with desk_at(folder, addresses(port), names, idle_s, **limits) as desk:
        for turn in range(case.turn + 1):
            strikes = turn == case.turn
            expected = case.expected if strikes else ""
            try:
                reply = await desk.ask(number + turn, turn, case.fault.startswith("stream"))
                ended = "" if _calls(reply) == [str(number + turn)] else f"the calls {_calls(reply)}"
            except ModelError as error:
                ended = type(error).__name__
            if ended != expected:
                return f"{case}: turn {turn} ended in {ended or 'a reply'}, not in {expected or 'a reply'}"
    return ""


async def play_all(
    chosen: Iterable[Case], port: int, folder: Path, at_once: int = 6
) -> tuple[int, list[str]]:
    """Play cases, a few at once; return how many there were and what went wrong."""
    slots = asyncio.Semaphore(at_once)

    async def one(index: int, case: Case) -> str:
        async with slots:
            place = folder / str(index)
            place.mkdir()
            return await play(case, port, place, 10 * index)

    ended = await asyncio.gather(*(one(index, case) for index, case in enumerate(chosen)))
    return len(ended), [wrong for wrong in ended if wrong]


async def traffic(count: int, seed: int, port: int, folder: Path, at_once: int = 16) -> Traffic:
    """Make seeded requests while one provider of three is down, another every few hundred requests."""
    chance, slots, made = random.Random(seed), asyncio.Semaphore(at_once), Counter[str]()
    before, failed = sum(take_down(port).values()), 0

    async def one(desk: Desk, number: int, streams: bool) -> None:
        nonlocal failed
        async with slots:
            if number % SWITCH_EVERY == 0:
                await asyncio.to_thread(take_down, port, chance.choice(NAMES), chance.choice(PASSING))
            try:
                made.update(_calls(await desk.ask(number, 0, streams)))
            except ModelError:
                failed += 1

    async with desk_at(folder, addresses(port), ["ok"] * 3) as desk:
        await asyncio.gather(*(one(desk, number, chance.random() < 0.2) for number in range(count)))
    sent = sum(take_down(port).values()) - before
    return Traffic(count, count - failed, sum(times - 1 for times in made.values()), sent)


def _calls(reply: AIMessage) -> list[str]:
    return [str(call["args"].get("number")) for call in reply.tool_calls]


def main() -> None:
    """Play all cases and the traffic, and say what came of it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, fault_server() as port:
        folder = Path(scratch)
        (folder / "cases").mkdir()
        (folder / "traffic").mkdir()
        played, wrong = asyncio.run(play_all(cases(), port, folder / "cases"))
        seen = asyncio.run(traffic(asked.requests, asked.seed, port, folder / "traffic"))
    found = {
        "faults": len(FAULTS),
        "cases": played,
        "wrong": len(wrong),
        "requests": seen.requests,
        "succeeded_share": round(seen.succeeded_share, 5),
        "sent_per_request": round(seen.sent_per_request, 4),
        "calls_twice": seen.twice,
        "seed": asked.seed,
    }
    Path("chaos.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=2))
    print("\n".join(wrong[:20]))
    assert played == len(FAULTS) * 9 >= 360, played
    assert not wrong
    assert seen.succeeded_share >= 0.999
    assert seen.sent_per_request <= 1.2
    assert seen.twice == 0


if __name__ == "__main__":
    main()
