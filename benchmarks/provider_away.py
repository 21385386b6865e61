"""A provider that goes away between any two model calls, for 2 s, 60 s or an hour -> provider_away.json

Runs of one to three effects: in a loop, planned, by a sub-agent, and in a session that a worker takes up. The
hour passes on the clock that the agent is given. Once the provider is back each run has to end with its
answer, with each effect made once, each approved by one card, and no model call that was answered sent again.
Exits with 1 where one does otherwise.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from langgraph.types import Command

from planwright.extras.worker.worker import Worker
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.settings.settings import load
from tests.wire.scripted_server import Reply, Request, ScriptedServer, calls, refuses, resets, says

WAYS = ("loop", "plan", "sub-agent", "session")
LASTS_S = (2, 60, 3600)
FAULTS = (refuses(503), refuses(429), refuses(500), resets())
MOST_ROUNDS = 60
ANSWER = "All is posted."
THREAD: Any = {"configurable": {"thread_id": "t"}}


@dataclass
class Calendar:
    """A clock that is put forward by hand."""

    now: datetime = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


class Absent(ScriptedServer):
    """A provider that answers from a list, and is away from set places of it on, for a time each."""

    def __init__(
        self, replies: Sequence[Reply], absences: dict[int, int], fault: Reply, clock: Calendar
    ) -> None:
        super().__init__(replies)
        self.answered, self.refused = 0, 0
        self._absences, self._fault, self._clock = dict(absences), fault, clock
        self._back = clock.now

    def take(self, request: Request) -> Reply:
        """Hand out the next reply, or the fault while it is away."""
        with self._lock:
            if lasts_s := self._absences.pop(self.answered, 0):
                self._back = self._clock.now + timedelta(seconds=lasts_s)
            if self._clock.now < self._back:
                self.refused += 1
                return self._fault
            self.answered += 1
            return self._replies[min(self.answered, len(self._replies)) - 1]


@dataclass
class Play:
    """What became of one run."""

    seed: int
    way: str
    absences: dict[int, int]
    """Seconds for which the provider is away, by the model call before which it goes."""
    paused: int = 0
    cards: int = 0
    faults: list[str] = field(default_factory=list)


def script(way: str, effects: int) -> list[Reply]:
    """Write what the model says: each effect in a reply of its own, and the answer."""
    names = [f"p{number}" for number in range(effects)]
    if way == "plan":
        steps = [
            {"id": f"s{n}", "capability": "work.post", "params": {"name": name}, "after": [f"s{n - 1}"][:n]}
            for n, name in enumerate(names)
        ]
        return [says(json.dumps({"goal": "Post", "steps": steps})), says(ANSWER)]
    posts = [calls("work__post", {"name": name}) for name in names]
    if way == "sub-agent":
        delegate = calls("agent__delegate", {"task": "Post", "tools": ["work.post"]})
        return [delegate, *posts, says("Posted."), says(ANSWER)]
    return [*posts, says(ANSWER)]


def play(seed: int, way: str, folder: Path) -> Play:
    """Play one run, and say what was wrong with it."""
    chance = random.Random(f"{seed} {way}")
    effects = chance.randint(1, 3)
    replies, clock = script(way, effects), Calendar()
    places = chance.sample(range(len(replies)), k=chance.randint(1, min(2, len(replies))))
    result = Play(seed, way, {place: chance.choice(LASTS_S) for place in sorted(places)})
    with Absent(replies, result.absences, chance.choice(FAULTS), clock) as server:
        settings = load(
            folder,
            providers={
                "local": {
                    "base_url": server.base_url,
                    "api_key": "key",
                    "model": "m",
                    "capabilities": ["function_calling"],
                }
            },
            planner={"attempts": 1},
            failover={"retries": 0, "base_ms": 1, "jitter": 0, "key_cooldown_s": 0},
            breaker={"open_s": 0.001},  # it is left alone by the clock of the machine
            planning={"mode": "always" if way == "plan" else "never"},
            capabilities={"modules": ["tests.scenarios.scenario_work"]},
            memory={"proposals": "off"},
            approval={"tool_risk": "Low", "plan": "always"},
        )
        with build_graph(settings, clock=clock) as agent:
            status, answer = _go_on(agent, result, clock, chance)
    log = folder / "done.log"
    done = Counter(log.read_text("utf-8").split() if log.exists() else ())
    cards = 1 if way == "plan" else effects
    checks = {
        f"ended as {status}: {answer}": (status, answer) != ("completed", ANSWER),
        f"made {dict(done)}": done != Counter(f"p{number}" for number in range(effects)),
        f"{result.cards} cards for {cards}": result.cards != cards,
        f"{server.answered} model calls for {len(replies)}": server.answered != len(replies),
        "never away": server.refused == 0,
        "never paused": result.paused == 0,
    }
    result.faults = [fault for fault, is_so in checks.items() if is_so]
    return result


def _go_on(agent: Agent, result: Play, clock: Calendar, chance: random.Random) -> tuple[str, str]:
    """Say yes to what is asked, and wait for what is away, until the run has ended."""
    if result.way == "session":
        agent.loop.call(lambda: agent.aenqueue("Post what has to be posted", thread_id="t"))
        out = _work(agent)
    else:
        out = agent.invoke({"messages": [("user", "Post what has to be posted")]}, THREAD)
    for _ in range(MOST_ROUNDS):
        if out["status"] == "paused":
            result.paused += 1
            clock.now += timedelta(seconds=chance.choice((1, 30, 900)))
            out = _work(agent) if result.way == "session" else agent.invoke(None, THREAD)
        elif out["status"] in ("interrupted", "waiting") and (gates := agent.get_state(THREAD).interrupts):
            result.cards += len(gates)
            yes = {gate.id: {"decisions": [{"type": "approve"}]} for gate in gates}
            out = agent.invoke(Command(resume=yes), THREAD)
        else:
            break
    return str(out["status"]), str(out.get("answer"))


def _work(agent: Agent) -> dict[str, Any]:
    """Let a worker go on with what can go on, and read how the run stands."""

    async def work() -> dict[str, Any]:
        await Worker(agent).run(until_idle=True)
        run = await agent.stores.runs.latest("t")
        return {"status": run.status, "answer": run.answer} if run else {"status": "none"}

    return agent.loop.call(work)


def main() -> int:
    """Play all, print what was seen, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--json", type=Path, default=Path("provider_away.json"))
    options = parser.parse_args()
    began_s, plays = time.monotonic(), []
    for way in WAYS:
        for seed in range(options.seeds):
            with tempfile.TemporaryDirectory(prefix="away-") as folder:
                plays.append(play(seed, way, Path(folder)))
        mine = [each for each in plays if each.way == way]
        wrong = [each for each in mine if each.faults]
        paused, cards = sum(each.paused for each in mine), sum(each.cards for each in mine)
        print(f"{way:10} {len(mine)} runs, {paused} pauses, {cards} cards, {len(wrong)} wrong")
        for each in wrong[:10]:
            print(f"  seed {each.seed}, away {each.absences}: {'; '.join(each.faults)}")
    options.json.write_text(json.dumps([asdict(each) for each in plays], indent=1) + "\n", "utf-8")
    print(f"{len(plays)} runs in {time.monotonic() - began_s:.0f} s")
    return int(any(each.faults for each in plays))


if __name__ == "__main__":
    sys.exit(main())
