"""`planwright worker`: take up what is queued, until a signal says stop."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from planwright.cli.session.logs import load_logged
from planwright.domain.errors import SetupError
from planwright.domain.plugins import how_to_install
from planwright.extras.worker.worker import Worker
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph


def work(workspace: Path, *, until_idle: bool, metrics: int | None = None) -> int:
    """Be a worker until a signal says stop; a second one ends at once, and nothing is lost by that.

    With `metrics` it answers monitoring at that port of this machine. Raises SetupError where it cannot.
    """
    agent = build_graph(load_logged(workspace))
    gc.freeze()  # what is loaded stays: to look through it for garbage took 7 % of the CPU of a resume

    async def run() -> None:
        worker, loop = Worker(agent), asyncio.get_running_loop()

        def stop() -> None:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)
            sys.stderr.write("stopping: what runs is handed over\n")
            worker.stop()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)
        async with agent:
            with nullcontext() if metrics is None else _monitored(metrics, agent, worker):
                await worker.run(until_idle=until_idle)

    if not until_idle:
        sys.stderr.write(f"worker on {workspace.resolve()}: Ctrl-C stops it\n")
    asyncio.run(run())
    return 0


@contextmanager
def _monitored(port: int, agent: Agent, worker: Worker) -> Iterator[None]:
    """Let monitoring ask how a worker is."""
    try:
        from planwright.extras.worker.metrics import monitoring
    except ImportError as error:
        raise SetupError("metrics need one package more", how_to_install("metrics")) from error
    try:
        with monitoring(port, agent.stores.database, lambda: worker.is_well):
            yield
    except OSError as error:
        cause = f"nothing can be answered at port {port}: {error.strerror}"
        raise SetupError(cause, "choose another: planwright worker --metrics PORT") from error
