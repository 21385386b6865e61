"""Random replies, made of good tool calls that were spoiled, played through the agentic loop.

After each: no exception came out, exactly the calls that were left good would run, and a provider
takes the history. Most replies are played without stores; a few hundred are the turns of whole runs.
Prints how many failed and the seed, writes `fuzz.json`, and exits with 1 on any failure.
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import json
import random
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from langchain_core.messages import AIMessage

from benchmarks.played_calls import Player, Ran, flaws, recording, whole_run
from benchmarks.spoiled_calls import Reply, make_reply, playable_reply
from planwright.capabilities.call_context import CallContext
from planwright.records.stores import open_stores
from planwright.security.jail import Jail
from planwright.settings.settings import load

TURNS, RUN = 15, 40  # replies of one conversation, and of one whole run


@dataclass
class Failure:
    """What went wrong with one reply; its number and the seed make it again."""

    number: int
    what: str
    reply: str


def main() -> int:
    """Play the replies and return the exit code."""
    options = _options()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        failures = asyncio.run(fuzz(options.replies, options.seed, Path(folder)))
        failures += fuzz_runs(options.in_runs, options.seed, Path(folder))
    seconds = round(time.perf_counter() - started, 1)
    counts = {"replies": options.replies, "in_runs": options.in_runs, "seed": options.seed}
    figures = {**counts, "failures": len(failures), "seconds": seconds}
    options.json.write_text(
        json.dumps({**figures, "failed": [asdict(f) for f in failures[:50]]}, indent=2) + "\n"
    )
    print(", ".join(f"{name} {value}" for name, value in figures.items()))
    for failure in failures[:10]:
        print(f"  reply {failure.number}: {failure.what}\n    {failure.reply}")
    return int(bool(failures))


async def fuzz(count: int, seed: int, folder: Path) -> list[Failure]:
    """Play replies without stores, and list what failed."""
    stores, settings = open_stores(folder / "store"), load(folder)
    world = CallContext(settings, Jail(settings.workspace), stores.memories)
    player = Player(recording([]), world)
    failures = []
    for number in range(count):
        if number % TURNS == 0:
            player.begin()
        rng = random.Random(f"{seed}:{number}")
        reply = make_reply(rng)
        lost = [place for place in range(len(reply.runs)) if rng.random() < 0.1]
        what = await wrong_with(player, reply, lost)
        if what:
            failures.append(Failure(number, what, ascii(reply.fields)[:500]))
            player.begin()
    stores.close()
    return failures


async def wrong_with(player: Player, reply: Reply, lost: list[int]) -> str:
    """Play one reply; say what is wrong with what came of it, empty when nothing is."""
    try:
        ran = await player.play(AIMessage.model_construct(**copy.deepcopy(reply.fields)), lost)
    except Exception as error:  # noqa: BLE001 - that nothing comes out is what is tested
        return f"{type(error).__name__} came out: {error}"
    if ran != reply.runs:
        return ascii(f"ran {ran}, not {reply.runs}")[:500]
    return "; ".join(flaws(player.conversation))


def fuzz_runs(count: int, seed: int, folder: Path) -> list[Failure]:
    """Play replies that LangChain lets through as the turns of whole runs."""
    failures, number = [], 0
    while number < count:
        rng = random.Random(f"{seed}:run:{number}")
        replies: list[Reply] = []
        while len(replies) < min(RUN, count - number):
            replies.append(playable_reply(rng))
        workspace = folder / f"run-{number}"
        workspace.mkdir()
        shown = f"{len(replies)} turns from {number}"
        try:
            ran, wrong = whole_run([reply.fields for reply in replies], workspace)
        except Exception as error:  # noqa: BLE001 - that nothing comes out is what is tested
            ran, wrong = [], [f"{type(error).__name__} came out: {error}"]
        if _sorted(ran) != _sorted([call for reply in replies for call in reply.runs]):
            wrong = [*wrong, "other calls ran than should have"]
        failures += [Failure(number, what, shown) for what in wrong]
        number += len(replies)
    return failures


def _sorted(ran: Ran) -> list[str]:
    return sorted(json.dumps(call, sort_keys=True) for call in ran)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--replies", type=int, default=20_000, help="how many to play without stores")
    parser.add_argument("--in-runs", type=int, default=400, help="how many more to play in whole runs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, default=Path("fuzz.json"))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
