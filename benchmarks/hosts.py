"""Workers on a PostgreSQL server as users have it: fsync on, over TCP, with the delay of a network.

Runs of three effects and a gate, eight at once in each worker, and the same in bare LangGraph on its own
saver, in turn. Prints runs a second, round trips and CPU a run, and writes `hosts.json`. Exits with 1 where a
bar is missed: 15 round trips; with 1 ms 12 runs a second with one worker, 20 with four, half of the saver's.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.figures import Figure
from tests import postgres_server
from tests.postgres_server import PASSWORD, PostgresServer

AS_USERS_HAVE_IT = {"fsync": "on", "autovacuum": "on", "shared_buffers": "128MB"}
DELAYS_MS, WORKERS = (0.0, 1.0, 5.0), (1, 2, 4)
BARS = {(1.0, 1): 12.0, (1.0, 4): 20.0}
MOST_TRIPS, LEAST_SHARE = 15, 0.5


def main() -> int:
    """Measure and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hosts", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="how long each is measured")
    parser.add_argument("--delay", type=float, action="append", help="milliseconds of a round trip")
    parser.add_argument("--workers", type=int, action="append", help="number of workers")
    options = parser.parse_args()
    figures: list[Figure] = []
    for delay_ms in options.delay or DELAYS_MS:
        for workers in options.workers or WORKERS:
            peer, _, _ = measure("saver", delay_ms, workers, options.seconds)
            rate, trips, cpu_ms = measure("ours", delay_ms, workers, options.seconds)
            where = f"{delay_ms:g} ms, {workers} workers"
            bar = BARS.get((delay_ms, workers))
            share = LEAST_SHARE if bar else None
            figures += [
                Figure("P11", f"{where}: runs a second", round(rate, 2), bar, "least"),
                Figure("P11", f"{where}: share of LangGraph's saver", round(rate / peer, 3), share, "least"),
                Figure("P11", f"{where}: round trips a run", round(trips), MOST_TRIPS if bar else None),
                Figure("P11", f"{where}: CPU of a run, ms", round(cpu_ms)),
            ]
            for figure in figures[-4:]:
                print(f"{figure.name}: {figure.value:g} {figure.bar_text}", flush=True)
    Path("hosts.json").write_text(json.dumps({figure.name: figure.value for figure in figures}, indent=2))
    return int(any(figure.missed for figure in figures))


def measure(kind: str, delay_ms: float, workers: int, seconds: float) -> tuple[float, float, float]:
    """Let workers play on a new server; returns runs a second, round trips and ms of CPU a run."""
    with _server() as server, _slow_way(server.port, delay_ms / 2000) as way, _folder() as folder:
        port = way.stdout.readline().strip() if way.stdout else ""
        url = f"postgresql://postgres:{PASSWORD}@127.0.0.1:{port}/planwright"
        crew = []
        for n in range(workers):
            place = folder / f"w{n}"
            place.mkdir()
            crew.append(_start("benchmarks.host_worker", kind, url, str(place), str(seconds)))
            _say(crew[-1])  # the first one makes the tables
        _ask(way)
        for worker in crew:
            _tell(worker)
        played = [json.loads(_say(worker)) for worker in crew]
        trips = int(_ask(way))
        for worker in crew:
            worker.wait()
    runs = sum(one["runs"] for one in played)
    rate = sum(one["runs"] / one["seconds"] for one in played)
    return rate, trips / runs, sum(one["cpu_s"] for one in played) / runs * 1000


@contextmanager
def _server() -> Iterator[PostgresServer]:
    postgres_server.SETTINGS.update(AS_USERS_HAVE_IT)
    server = PostgresServer.start()
    try:
        yield server
    finally:
        server.remove()


@contextmanager
def _slow_way(port: int, delay_s: float) -> Iterator[subprocess.Popen[str]]:
    way = _start("benchmarks.slow_way", str(port), str(delay_s))
    try:
        yield way
    finally:
        way.kill()
        way.wait()


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="hosts-") as place:
        yield Path(place)


def _start(module: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _tell(process: subprocess.Popen[str]) -> None:
    if process.stdin is not None:
        process.stdin.write("go\n")
        process.stdin.flush()


def _say(process: subprocess.Popen[str]) -> str:
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        raise RuntimeError(f"a process ended with {process.wait()}: {process.args!r}")
    return line.strip()


def _ask(process: subprocess.Popen[str]) -> str:
    _tell(process)
    return _say(process)


if __name__ == "__main__":
    sys.exit(main())
