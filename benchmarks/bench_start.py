"""P8: how soon work goes on after a kill, and what a command costs before it does anything.

A process is killed with -9 in the second step of a plan. Another one, already at work on the same store, goes
on with the run: measured is the time until its first step is called. Commands are started as a shell does.
"""

from __future__ import annotations

import asyncio
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.figures import Effort, Figure
from benchmarks.killed_run import THREAD_PREFIX, open_recovering

COMMANDS = {"--help": 0.3, "ls": 0.5}
RECOVERY_MS, IMPORT_BAR = 50, 1.1
BARE = (
    "langgraph.graph langgraph.types langgraph.checkpoint.sqlite langchain_core.messages langchain_core.tools"
    " langchain_core.language_models langchain_core.runnables"
).split()
IMPORTED = """import contextlib, importlib, sys
for name in sys.argv[1:]:
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
"""
LISTED = """import atexit, sys
atexit.register(lambda: print("loaded", *(name for name in sys.modules if name != "__main__")))
sys.argv = ["planwright", "run", "What time is it?"]
from planwright.cli.main import main
main()
"""


async def recovery_ms(folder: Path, rounds: int) -> list[float]:
    """Kill a process in the middle of a plan, again and again; returns the milliseconds to a step."""
    called: list[float] = []
    taken = []
    with open_recovering(folder, lambda: called.append(time.perf_counter()), rounds + 1) as agent:
        await agent.ainvoke({"messages": [("user", "Warm up")]}, _thread("warm"))
        for number in range(rounds):
            thread = f"{THREAD_PREFIX}{number}"
            await asyncio.to_thread(_kill_in_second_step, folder, thread)
            called.clear()
            began = time.perf_counter()
            out = await agent.ainvoke(None, _thread(thread))
            if out["status"] != "completed" or len(called) != 2:
                raise RuntimeError(f"the run was not recovered: {out['answer']}, {len(called)} steps")
            taken.append((called[0] - began) * 1000)
    return taken


def _kill_in_second_step(folder: Path, thread: str) -> None:
    command = [sys.executable, "-m", "benchmarks.killed_run", str(folder), thread]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        if process.stdout is None or process.stdout.readline().strip() != "second step":
            raise RuntimeError("the run that is to be killed did not come to its second step")
        process.send_signal(signal.SIGKILL)


def _thread(name: str) -> Any:
    return {"configurable": {"thread_id": name}}


def cpu_s(command: Sequence[str], folder: Path) -> float:
    """Run a command and return its seconds of CPU, those of user and of system. Raises CalledProcessError."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def modules_of_run(folder: Path) -> list[str]:
    """Name the modules that `planwright run` has loaded when it ends, in the order of loading."""
    done = subprocess.run(
        [sys.executable, "-c", LISTED],
        cwd=folder,
        check=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    return done.stdout.rpartition("loaded ")[2].split()


async def measure(folder: Path, effort: Effort) -> list[Figure]:
    """Measure recovery, commands and imports."""
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    recovered = statistics.median(await recovery_ms(folder / "killed", effort.pick(7, 3)))
    figures = [Figure("P8", "ms to the first step after a kill, warm", round(recovered, 1), RECOVERY_MS)]
    return figures + await asyncio.to_thread(_commands, folder / "killed", effort.repeat)


def _commands(folder: Path, repeat: int) -> list[Figure]:
    planwright = str(Path(sys.executable).with_name("planwright"))
    modules = modules_of_run(folder)
    commands = {
        "--help": [planwright, "--help"],
        "ls": [planwright, "ls"],
        "run": [sys.executable, "-c", IMPORTED, *modules],
        "bare": [sys.executable, "-c", IMPORTED, *BARE],
    }
    cpu: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(repeat + 1):
        for name, command in commands.items():
            cpu[name].append(cpu_s(command, folder))
    seconds = {name: statistics.median(each[1:]) for name, each in cpu.items()}
    note = f"CPU {seconds['run']:.2f} s over {seconds['bare']:.2f} s, {len(modules)} modules"
    name, ratio = "imports of run / langgraph with langchain-core", round(seconds["run"] / seconds["bare"], 2)
    return [
        *(
            Figure("P8", f"CPU s of planwright {name}", round(seconds[name], 2), bar)
            for name, bar in COMMANDS.items()
        ),
        Figure("P8", name, ratio, IMPORT_BAR, note=note),
    ]
