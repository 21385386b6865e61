"""Runs in the background: begin one, ask something of it, and be the worker that goes on with it."""

from __future__ import annotations

import asyncio
import gc
import json
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from planwright.cli.session.logs import load_logged
from planwright.cli.views.open_store import has_store, no_runs
from planwright.cli.views.rendering import where_option
from planwright.cli.views.short_names import full_name
from planwright.domain.errors import SetupError, how_to_install
from planwright.domain.run_context import RunContext
from planwright.presentation.figures import UNIT_WORDS
from planwright.records.queue.sessions import UNITS
from planwright.records.records import Records, open_records
from planwright.records.runs import Run
from planwright.security.credentials import login_name
from planwright.security.redaction.known_secrets import redactor_of
from planwright.settings.settings import Settings

if TYPE_CHECKING:
    from planwright.extras.worker.worker import Worker
    from planwright.graph.agent import Agent


def queue_request(
    request: str, workspace: Path, thread: str | None, options: RunContext, as_json: bool
) -> int:
    """Queue a run, and say who takes it up."""
    from planwright.graph.building import build_graph

    settings = load_logged(workspace)
    where = where_option(settings.workspace)
    with build_graph(settings) as agent:
        config = agent.enqueue(
            request, thread_id=thread, context=replace(options, channel="cli", requested_by=login_name())
        )
        workers = agent.loop.call(agent.stores.workers.living)
    thread_id = str(config["configurable"]["thread_id"])
    if as_json:
        print(json.dumps({"thread_id": thread_id, "status": "queued", "workers": len(workers)}))
        return 0
    print(f"queued: planwright sessions watch {thread_id}{where}")
    if not workers:
        sys.stderr.write(f"nobody takes it up yet; begin: planwright worker{where}\n")
    return 0


def pause_session(thread: str, workspace: Path) -> int:
    """Ask a run to pause, and say whether it does already."""
    with _opened(workspace) as (settings, records):
        which = full_name(settings, thread)
        run = asyncio.run(records.sessions.pause(which, login_name()))
        paused = run.status == "paused"
    print(f"{run.run_id} is paused" if paused else f"{run.run_id} pauses when what runs now has ended")
    print(f"go on: planwright sessions resume {run.thread_id}")
    return 0


def resume_session(thread: str, workspace: Path) -> int:
    """Queue a paused session again."""
    with _opened(workspace) as (settings, records):
        which = full_name(settings, thread)
        run = asyncio.run(records.sessions.resume(which, login_name()))
    print(f"{run.run_id} is queued again")
    return 0


def extend_session(thread: str, workspace: Path, amounts: Mapping[str, float]) -> int:
    """Give a run more of what it is limited in. Raises SetupError for nothing."""
    more = {unit: amounts[unit] for unit in UNITS if amounts.get(unit)}
    if not more:
        raise SetupError("nothing is given", "say what: planwright sessions extend THREAD --tokens 50000")
    with _opened(workspace) as (settings, records):
        which = full_name(settings, thread)
        run: Run = asyncio.run(records.sessions.extend(which, more, login_name()))
    words = ", ".join(f"{amount:g} more {UNIT_WORDS[unit]}" for unit, amount in more.items())
    print(f"{run.run_id} may use {words}")
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


@contextmanager
def _opened(workspace: Path) -> Iterator[tuple[Settings, Records]]:
    """Open the records of a workspace. Raises RunError where there are none."""
    settings = load_logged(workspace)
    if not has_store(settings):
        raise no_runs(settings)
    patience_s, redactor = settings.storage.busy_timeout_s, redactor_of(settings)
    with closing(
        open_records(
            settings.store_folder, busy_timeout_s=patience_s, redactor=redactor, url=settings.store_url
        )
    ) as records:
        yield settings, records


def work(workspace: Path, *, until_idle: bool, metrics: int | None = None) -> int:
    """Be a worker until a signal says stop; a second one ends at once, and nothing is lost by that.

    With `metrics` it answers monitoring at that port of this machine. Raises SetupError where it cannot.
    """
    from planwright.extras.worker.worker import Worker
    from planwright.graph.building import build_graph

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
