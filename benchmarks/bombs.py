"""`bombs`: texts from outside that are made to freeze, fill or end the program, each through its door.

Each goes off in a process of its own, with a ticking thread beside it. Measured are, above what a plain run
needs: CPU seconds, of the process and its children; growth of memory; and how much CPU the process used
while the ticking thread could not run, which is how long the interpreter was held. Prints what is over a
limit, writes `bombs.json`, and exits with 1 where anything is.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.bomb_table import Bomb, every_bomb
from planwright.domain.errors import PlanwrightError
from planwright.sandbox.sandbox import sandbox

CPU_S, MEMORY_MB, HELD_S = 2.0, 100.0, 0.2
GIVEN_UP_S = 10  # of CPU: what takes longer is killed
WAITED_S = 600  # for what uses no CPU, or for a machine without a free moment
ROOM_BYTES = 4_000_000_000
TICK_S = 0.002
# What a child of the sandbox takes before its first job: measured with `import cel`, the heaviest.
START_CPU_S, AT_REST_MB = 0.7, 45.0
SERVER = Path(__file__).with_name("bomb_server.py")
UNCLEAR = re.compile(
    r"RecursionError|MemoryError|Traceback|AssertionError|IndexError|died|FileNotFound|there is no tool"
)


@dataclass
class Figures:
    """What one bomb used, and how it ended; `over` names the limits it broke."""

    room: str
    name: str
    cpu_s: float = 0.0
    memory_mb: float = 0.0
    held_s: float = 0.0
    ended: str = ""
    over: list[str] = field(default_factory=list)

    def judge(self) -> Figures:
        """Name the limits that were broken."""
        used = {"cpu": self.cpu_s / CPU_S, "memory": self.memory_mb / MEMORY_MB, "held": self.held_s / HELD_S}
        self.over = [name for name, share in used.items() if share > 1]
        self.over += ["end"] if UNCLEAR.search(self.ended) else []
        return self


def measure(bomb: Bomb, port: int, given_up_s: int = GIVEN_UP_S) -> Figures:
    """Let a bomb go off in a child, and say what it used."""
    ours, theirs = Pipe()
    child = os.fork()
    if child == 0:
        _go_off(bomb, port, theirs, given_up_s)
    theirs.close()
    figures = Figures(bomb.room, bomb.name)
    told, watch, until = None, _Children(child), time.monotonic() + WAITED_S
    with contextlib.suppress(EOFError):
        while told is None and time.monotonic() < until:
            watch.look()
            told = ours.recv() if ours.poll(TICK_S) else None
    if told is None:
        os.kill(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    figures.cpu_s = round(usage.ru_utime + usage.ru_stime, 2)
    if told is None:
        figures.ended = f"died: status {status}"
        figures.held_s = figures.cpu_s
    else:
        figures.held_s, figures.memory_mb, figures.ended = told
    figures.memory_mb = max(figures.memory_mb, watch.memory_mb)
    figures.cpu_s -= len(watch.seen) * START_CPU_S
    return figures


def _go_off(bomb: Bomb, port: int, told: Connection, given_up_s: int) -> None:
    """Play one bomb and tell what it used; never returns."""
    os.setpgrp()
    resource.setrlimit(resource.RLIMIT_CPU, (given_up_s, given_up_s + 1))
    resource.setrlimit(resource.RLIMIT_AS, (ROOM_BYTES, ROOM_BYTES))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    gc.collect()
    before = _memory_mb("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # proc(5): reset the peak
    ticks, ended = _Ticks(), ""
    with tempfile.TemporaryDirectory(prefix="bomb-") as folder, ticks:
        try:
            ended = bomb.play(Path(folder), port)
        except PlanwrightError as error:
            ended = f"{type(error).__name__}: {error}"
        except BaseException as error:  # noqa: BLE001 - how it ends is what is asked
            ended = f"Traceback: {type(error).__name__}: {error}"
    growth = _memory_mb("VmHWM") - before
    sandbox().close()
    told.send((round(ticks.longest, 2), round(growth, 1), ended[:600]))
    os._exit(0)


class _Children:
    """The children of the sandbox that a process has, and how much memory one of them came to use."""

    def __init__(self, parent: int) -> None:
        self._parent = parent
        self.seen: set[str] = set()
        self.memory_mb = 0.0

    def look(self) -> None:
        """Look at them once; until a child has loaded its own program it is none."""
        for listed in Path(f"/proc/{self._parent}/task").glob("*/children"):  # proc(5)
            with contextlib.suppress(OSError, StopIteration):
                for pid in listed.read_text().split():
                    if b"planwright.sandbox.child" in Path(f"/proc/{pid}/cmdline").read_bytes():
                        self.seen.add(pid)
                        self.memory_mb = max(self.memory_mb, _memory_mb("VmHWM", pid) - AT_REST_MB)


class _Ticks:
    """A thread that ticks, and the most CPU this process used between two of its ticks."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _tick(self) -> None:
        before = time.thread_time(), time.process_time()
        while not self._over.wait(TICK_S):
            now = time.thread_time(), time.process_time()
            self.longest = max(self.longest, now[1] - before[1] - (now[0] - before[0]))
            before = now


def _memory_mb(name: str, pid: str = "self") -> float:
    row = next(row for row in Path(f"/proc/{pid}/status").read_text().splitlines() if row.startswith(name))
    return int(row.split()[1]) / 1000


def measured(chosen: Callable[[Bomb], bool], tell: Callable[[Figures], None]) -> list[Figures]:
    """Measure the chosen bombs, above the first, which is plain."""
    plain, *bombs = every_bomb()
    with ExitStack() as stack:
        server = stack.enter_context(
            subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True)
        )
        stack.callback(server.kill)
        assert server.stdout is not None
        port = int(server.stdout.readline())
        _warm(plain, port)
        base = measure(plain, port)
        found = []
        for bomb in filter(chosen, bombs):
            figures = measure(bomb, port)
            figures.cpu_s = round(max(0.0, figures.cpu_s - base.cpu_s), 2)
            figures.memory_mb = round(max(0.0, figures.memory_mb - base.memory_mb), 1)
            tell(figures.judge())
            found.append(figures)
    return found


def _warm(plain: Bomb, port: int) -> None:
    """Import here what the children will need: loading is not what is measured."""
    import cel  # noqa: F401
    import icalendar  # noqa: F401
    import jsonschema  # noqa: F401
    import langchain_openai  # noqa: F401
    import mcp.client.stdio  # noqa: F401
    import recurring_ical_events  # noqa: F401

    with tempfile.TemporaryDirectory(prefix="bomb-") as folder:
        plain.play(Path(folder), port)


def main() -> int:
    """Measure the bombs and return the exit code."""
    options = _options()
    started = time.perf_counter()

    def chosen(bomb: Bomb) -> bool:
        return options.only in f"{bomb.room}: {bomb.name}"

    def tell(figures: Figures) -> None:
        if figures.over or options.all:
            used = f"{figures.cpu_s:6.2f} s CPU {figures.memory_mb:7.1f} MB {figures.held_s:5.2f} s held"
            print(
                f"{used}  {figures.room}: {figures.name} [{' '.join(figures.over)}] {figures.ended[:120]}",
                flush=True,
            )

    found = measured(chosen, tell)
    bad = [figures for figures in found if figures.over]
    counts: dict[str, object] = {"bombs": len(found), "over_a_limit": len(bad)}
    counts |= {"most_cpu_s": max(figures.cpu_s for figures in found)}
    counts |= {"most_memory_mb": max(figures.memory_mb for figures in found)}
    counts |= {"longest_held_s": max(figures.held_s for figures in found)}
    counts |= {"seconds": round(time.perf_counter() - started, 1)}
    options.json.write_text(json.dumps({**counts, "each": [asdict(one) for one in found]}, indent=1) + "\n")
    print(", ".join(f"{name} {value}" for name, value in counts.items()))
    return int(bool(bad))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="", help="bombs whose room and name hold this text")
    parser.add_argument("--all", action="store_true", help="print those within the limits, too")
    parser.add_argument("--json", type=Path, default=Path("bombs.json"))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
