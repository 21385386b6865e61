"""Providers played by aimock, which fail in every way it knows: who serves, what is sent -> aimock.json

First every fault it can play strikes at each of three turns, at each of three providers (which speak as
OpenAI, OpenRouter and BytePlus Ark do), streamed and not. Then thousands of requests are made of three
servers that roll dice, one of which is down; the journals of aimock say what was sent. Then whole runs are
made of servers that fail a quarter of all calls. Prints N, failures and the seed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage

from benchmarks import aimock_runs
from benchmarks.aimock_faults import (
    ARGUMENTS,
    DOWN,
    FAULTS,
    UNAVAILABLE,
    UP,
    Case,
    cases,
    fixtures,
    model_of,
)
from benchmarks.aimock_server import Aimock, Fixture, Sent, aimock
from benchmarks.model_desk import NAMES, Desk, Traffic, desk_at
from planwright.domain.errors import ModelError

SURFACES = ("v1", "api/v1", "api/v3")
SHORT_S, LONG_S = 1.0, 60.0
SWITCH_EVERY = 250
NOW_AND_THEN = {"dropRate": 0.02, "malformedRate": 0.02, "rateLimitRate": 0.01, "disconnectRate": 0.02}
ALWAYS = [{rate: 1.0} for rate in NOW_AND_THEN]


async def play(case: Case, server: Aimock, folder: Path, number: int) -> str:
    """Play one case; return what went otherwise than it should, or nothing."""
    struck = model_of(case.name, case.turn)
    models = [*[DOWN] * case.place, struck, *[UP] * (len(NAMES) - case.place - 1)]
    limits = {"failover": {"retries": 1, "base_ms": 1}, "execution": {"step_timeout_s": 5}}
    urls = [f"{server.url}/{surface}" for surface in SURFACES]
    idle_s = SHORT_S if case.fault.slow else LONG_S
    async with desk_at(folder, urls, models, idle_s, **limits) as desk:
        for turn in range(case.turn + 1):
            strikes = turn == case.turn
            expected = case.expected if strikes else ""
            calls = case.fault.calls if strikes and not case.fault.outcome else (ARGUMENTS,)
            try:
                reply = await desk.ask(number + turn, turn, case.streams)
                ended = "" if _calls(reply) == calls else f"the calls {_calls(reply)}"[:80]
            except ModelError as error:
                ended = type(error).__name__
            if ended != expected:
                return f"{case}: turn {turn} ended in {ended or 'a reply'}, not in {expected or 'a reply'}"
    return ""


async def play_all(chosen: Iterable[Case], server: Aimock, folder: Path, at_once: int = 6) -> Played:
    """Play cases, a few at once; then look into the journal for calls that should not have been sent."""
    slots = asyncio.Semaphore(at_once)
    listed = dict(enumerate(chosen))

    async def one(index: int, case: Case) -> str:
        async with slots:
            place = folder / str(index)
            place.mkdir()
            return await play(case, server, place, 10 * index)

    ended = await asyncio.gather(*(one(index, case) for index, case in listed.items()))
    sent = by_number(await asyncio.to_thread(server.journal))
    astray = [_astray(case, sent.get(10 * index + case.turn, [])) for index, case in listed.items()]
    return Played(len(ended), [wrong for wrong in (*ended, *astray) if wrong])


@dataclass(frozen=True)
class Played:
    """How many cases were played, and what went wrong."""

    cases: int
    wrong: list[str]


def by_number(sent: Iterable[Sent]) -> dict[int, list[Sent]]:
    """Sort calls by the request they were made for."""
    found: dict[int, list[Sent]] = {}
    for one in sent:
        found.setdefault(one.number, []).append(one)
    return found


def _astray(case: Case, sent: Sequence[Sent]) -> str:
    """Say whether a failed call was repeated or went on elsewhere when it should not have, or too soon."""
    tries = [one.at_ms for one in sent if one.surface == SURFACES[case.place]]
    if any(later - tries[0] < case.fault.asks_for_ms for later in tries[1:]):
        return f"{case}: asked again before {case.fault.asks_for_ms} ms were over"
    seen = [sum(one.surface == surface for one in sent) for surface in SURFACES]
    most = 2 if case.fault.outcome == UNAVAILABLE else 1
    onward = [0] * (len(NAMES) - case.place - 1)
    if case.fault.outcome and not case.expected:
        onward[0] = 1
    if seen[case.place] <= most and seen[case.place + 1 :] == onward:
        return ""
    return f"{case}: sent {seen}, not at most {most} and then {onward}"


@dataclass(frozen=True)
class DicedTraffic(Traffic):
    """What came of many requests while servers rolled dice; `spoiled` replies were not what was asked for."""

    spoiled: int


async def traffic(
    count: int, seed: int, servers: Sequence[Aimock], folder: Path, at_once: int = 16
) -> DicedTraffic:
    """Make requests of servers that roll dice, and one that is down: another every few hundred requests."""
    chance, slots = random.Random(seed), asyncio.Semaphore(at_once)
    succeeded = spoiled = 0

    async def one(desk: Desk, number: int, streams: bool) -> None:
        nonlocal succeeded, spoiled
        async with slots:
            if number % SWITCH_EVERY == 0:
                await asyncio.to_thread(take_down, servers, chance.choice(servers), chance.choice(ALWAYS))
            try:
                reply = await desk.ask(number, 0, streams)
            except ModelError:
                return
            succeeded += 1
            spoiled += _calls(reply) != (ARGUMENTS,)

    async with desk_at(folder, [server.base_url for server in servers], [UP] * len(NAMES)) as desk:
        await asyncio.gather(*(one(desk, number, chance.random() < 0.5) for number in range(count)))
    sent = by_number(one for server in servers for one in server.journal())
    twice = sum(max(0, sum(one.answered for one in calls) - 1) for calls in sent.values())
    return DicedTraffic(count, succeeded, twice, sum(map(len, sent.values())), spoiled)


def take_down(servers: Sequence[Aimock], down: Aimock, rates: dict[str, float]) -> None:
    """Let one server fail always, and the others now and then."""
    for server in servers:
        server.play(rates if server is down else NOW_AND_THEN)


def _calls(reply: AIMessage) -> tuple[Any, ...]:
    return tuple(call["args"] for call in reply.tool_calls)


@contextmanager
def three(fixtures: Sequence[Fixture], folder: Path, seed: int) -> Iterator[list[Aimock]]:
    """Run three servers, each with dice of its own."""
    with ExitStack() as running:
        yield [
            running.enter_context(aimock(fixtures, folder, seed=seed + at, name=name))
            for at, name in enumerate(NAMES)
        ]


def main() -> None:
    """Play all cases, the traffic and the runs, and say what came of it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "cases").mkdir()
        with aimock(fixtures(), folder) as server:
            played = asyncio.run(play_all(cases(), server, folder / "cases"))
        with three(fixtures(), folder, asked.seed) as servers:
            seen = asyncio.run(traffic(asked.requests, asked.seed, servers, folder))
        (folder / "runs").mkdir()
        with three(aimock_runs.fixtures(asked.runs), folder / "runs", asked.seed) as servers:
            runs = asyncio.run(aimock_runs.play_runs(asked.runs, servers, folder / "runs"))
    found = {
        "faults": len(FAULTS),
        "cases": played.cases,
        "wrong": len(played.wrong),
        "requests": seen.requests,
        "succeeded_share": round(seen.succeeded_share, 5),
        "spoiled": seen.spoiled,
        "sent_per_request": round(seen.sent_per_request, 4),
        "replies_twice": seen.twice,
        "runs": runs.runs,
        "runs_completed": runs.completed,
        "effects_lacking": runs.lacking,
        "effects_twice": runs.twice,
        "sent_per_call_of_runs": round(runs.sent_per_call, 4),
        "seed": asked.seed,
    }
    Path("aimock.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=2))
    print("\n".join(played.wrong[:20]))
    assert played.cases == len(cases()) >= 1000
    assert not played.wrong
    assert seen.succeeded_share >= 0.999
    assert seen.sent_per_request <= 1.2
    assert seen.spoiled == seen.twice == 0
    assert runs.completed == runs.runs == asked.runs
    assert runs.lacking == runs.twice == 0


if __name__ == "__main__":
    main()
