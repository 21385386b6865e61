"""pydantic-ai on the same script, in a process and an environment of its own (`make bench` sets it up).

Run by that environment, `pydantic_ai_loop.py` carries out one loop for each line of its standard input and
writes the seconds of CPU it took.
"""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.figures import Job, Spent

PYTHON = Path(".bench-venv/bin/python")
LOOP = Path(__file__).with_name("pydantic_ai_loop.py")


@contextmanager
def pydantic_ai_job(url: str) -> Iterator[Job | None]:
    """Lend the job of a process that carries out loops of pydantic-ai; None without the environment."""
    if not PYTHON.exists():
        yield None
        return
    command = [str(PYTHON), "-P", str(LOOP), url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        source, sink = process.stdout, process.stdin
        if source is None or sink is None:
            raise RuntimeError("the process of pydantic-ai has no pipes")

        async def job() -> Spent:
            began = time.perf_counter()
            print(file=sink, flush=True)
            cpu_s = float(await asyncio.to_thread(source.readline))
            return Spent(time.perf_counter() - began, cpu_s)

        yield job
        sink.close()
