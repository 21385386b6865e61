"""Sessions of ten steps, and workers that are killed, stopped past their lease and asked to end.

Processes are real, and so is the receiver that counts effects. With `--postgres` the store is a server,
whose sessions are ended, too, and two workers are in PID and network namespaces of their own, where this
machine permits that. At the end every session has to have ended as it should, and each of its effects has to
have happened once. Prints a table, writes `workers.json`, and exits with 1 when anything is lost, doubled,
stuck, or ends otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.consent_model import Script
from benchmarks.counted_person import preload
from benchmarks.counted_shapes import Shape
from benchmarks.counted_stage import Stage, fork, join, quick_folder
from benchmarks.counting_receiver import receiving
from benchmarks.crew import PATIENCE_S, Crew, decide
from benchmarks.namespaces import NEW_NETWORK, lead_out, permitted
from tests.postgres_server import PostgresServer

LEASE_S, BUSY_S, DELAY_S, APART = 2.0, 10.0, 0.02, 2
NUMBER = re.compile(r"\br(\d+)\b")
KINDS = ("book", "transfer")
SETTINGS: dict[str, Any] = {
    "approval": {"plan": "never", "risk": "Critical"},
    "planning": {"mode": "always", "replan_budget": 0},
    "budgets": {"run": {"effects_per_minute": "unlimited"}},
    "queue": {"look_s": 0.1, "capacity": 10_000},
}
TOML = """
[sessions]
on_silence = "resume"
most_breaks = 1000
"""
WAITING = "SELECT 1 FROM runs WHERE status = 'waiting' AND lease_until = 0"
ENDS = "SELECT run_id FROM journal WHERE type = 'run_end' GROUP BY run_id HAVING count(*) <> 1"
BAD = ("lost", "doubled", "not_completed", "told_two_ends", "ended_badly", "stuck")


class Foreman(Script):
    """A model that plans one session after another: which one, the number in the request says."""

    def __init__(self, steps: int, kinds: Sequence[str] = KINDS) -> None:
        super().__init__("", ())
        self.steps, self.kinds = steps, kinds

    def reply(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Write the message that a conversation gets."""
        number = NUMBER.findall(json.dumps(messages))
        if not number or not str(messages[0]["content"]).startswith("Role: planner"):
            return {"role": "assistant", "content": "That is done."}
        plan = plan_of(int(number[-1]), self.steps, self.kinds)
        return {"role": "assistant", "content": json.dumps(plan)}


def plan_of(number: int, steps: int, kinds: Sequence[str] = KINDS) -> dict[str, Any]:
    """Plan a session: each step but the first two comes after one or two of those before it."""
    chance = random.Random(number)
    listed = []
    for n in range(steps):
        before = chance.sample(range(n), min(n, chance.choice((0, 1, 1, 2))))
        step = {
            "id": f"s{n}",
            "capability": f"bench.{chance.choice(kinds)}",
            "params": {"name": f"r{number} s{n}"},
        }
        listed.append({**step, "depends_on": [f"s{m}" for m in sorted(before)]})
    return {"goal": f"Do r{number}", "steps": listed}


def queue(stage: Stage, sessions: int) -> None:
    """Queue all sessions."""
    agent = stage.open()
    for number in range(sessions):
        agent.enqueue(f"Do r{number}", thread_id=f"thread-{number}")
    agent.close()


def main() -> int:
    """Play a trial and return the exit code."""
    options = _options()
    preload()
    with stored(options.postgres) as url, tempfile.TemporaryDirectory(dir=quick_folder()) as place:
        figures = play(options, Path(place), url)
    options.json.write_text(json.dumps(figures, indent=2) + "\n")
    table = Table("workers", "")
    for name, figure in figures.items():
        table.add_row(name.replace("_", " "), str(figure))
    Console().print(table)
    return int(any(figures[name] for name in BAD))


@contextmanager
def stored(on_postgres: bool) -> Iterator[str]:
    """Start a server, if one is wanted, and give the address of a store in it; empty for files."""
    server = PostgresServer.start() if on_postgres else None
    try:
        yield server.url() if server else ""
    finally:
        if server is not None:
            server.remove()


def play(options: argparse.Namespace, folder: Path, url: str = "") -> dict[str, Any]:
    """Queue sessions, disturb the workers until all have ended, and count."""
    shape = Shape("sessions", Foreman(options.steps), "always", {}, settings=SETTINGS)
    with receiving(Foreman(options.steps), delay_s=options.delay) as receiver:
        stage = Stage(folder / "workspace", receiver, shape, LEASE_S, BUSY_S, url=url)
        stage.prepare()
        (stage.workspace / "planwright.toml").write_text(TOML)
        join(fork(partial(queue, stage, options.sessions), PATIENCE_S))
        refusal = permitted(NEW_NETWORK) if url and not options.calm else "not asked for"
        crew = Crew(stage, 0 if refusal else APART, folder / "door")
        relay = lead_out(receiver.port, crew.door, PATIENCE_S) if crew.apart else 0
        began = time.monotonic()
        try:
            crew.start_all(options.workers)
            doubts = _disturb(options, crew)
            seconds = time.monotonic() - began
        finally:
            crew.rest()
            if relay:
                os.kill(relay, signal.SIGKILL)
                join(relay)
        happened = Counter(arrival.name for arrival in receiver.happened())
    return {**_figures(options, crew, happened, seconds), "times_a_person_decided": doubts}


def _disturb(options: argparse.Namespace, crew: Crew) -> int:
    """Let things happen to workers until all sessions have ended; say how often a person had to decide."""
    chance, until, doubts = random.Random(options.seed), time.monotonic() + PATIENCE_S, 0
    while _ended(crew.stage) < options.sessions and time.monotonic() < until:
        time.sleep(0.05 if options.calm else chance.uniform(0.5, 1.5) * options.every)
        if not options.calm:
            crew.trouble(chance, LEASE_S)
        if crew.stage.rows(WAITING):
            join(fork(partial(decide, crew.stage), PATIENCE_S))
            doubts += 1
    return doubts


def _ended(stage: Stage) -> int:
    return int(stage.rows("SELECT count(*) AS n FROM runs WHERE ended_at IS NOT NULL")[0]["n"])


def _figures(
    options: argparse.Namespace, crew: Crew, happened: Counter[str], seconds: float
) -> dict[str, Any]:
    wanted = {f"r{number} s{n}" for number in range(options.sessions) for n in range(options.steps)}
    rows, noted = crew.stage.rows, crew.noted()
    statuses = Counter(row["status"] for row in rows("SELECT status FROM runs"))
    return {
        "store": "postgres" if options.postgres else "sqlite",
        "seed": options.seed,
        "sessions": options.sessions,
        "steps": options.steps,
        "workers": options.workers,
        "in_namespaces": crew.apart,
        "killed": crew.counts["kill"],
        "stopped": crew.counts["stop"],
        "told_to_end": crew.counts["end"],
        "sessions_of_the_server_ended": crew.counts["cut"],
        "of_these_in_namespaces": crew.counts["apart"],
        "ended_badly": crew.counts["ended badly"],
        "breaks": int(rows("SELECT coalesce(sum(breaks), 0) AS n FROM sessions")[0]["n"]),
        "lost": len(wanted - set(happened)),
        "doubled": sum(count > 1 for count in happened.values()),
        "not_completed": options.sessions - statuses["completed"],
        "told_two_ends": len(rows(ENDS)),
        "stuck": options.sessions - _ended(crew.stage),
        "stale_writes_refused": noted.pop("stale writes refused", 0),
        "lock_errors": noted.pop("lock errors", 0),
        "errors": dict(noted),
        "statuses": dict(statuses),
        "seconds": round(seconds, 1),
        "sessions_a_second": round(options.sessions / seconds, 2),
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workers", description=__doc__)
    parser.add_argument("--sessions", type=int, default=200, help="how many sessions are queued")
    parser.add_argument("--steps", type=int, default=10, help="how many steps each has")
    parser.add_argument("--workers", type=int, default=4, help="how many workers there are at a time")
    parser.add_argument("--postgres", action="store_true", help="keep them in a PostgreSQL server")
    parser.add_argument("--delay", type=float, default=DELAY_S, help="seconds that each effect takes")
    parser.add_argument("--every", type=float, default=0.3, help="seconds between two troubles")
    parser.add_argument("--calm", action="store_true", help="let nothing happen to the workers")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the troubles")
    parser.add_argument("--json", type=Path, default=Path("workers.json"), help="where the figures go")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
