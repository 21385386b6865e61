"""Runs in the background: queued by any process, taken up by a worker in any other."""

from __future__ import annotations

from typing_extensions import TypedDict

from planwright.domain.clock import LONGEST_S
from planwright.domain.errors import SetupError
from planwright.domain.run_context import read_context
from planwright.graph.entry.checks import profile_of
from planwright.graph.entry.door import Door
from planwright.records.queue.queue import Term
from planwright.records.queue.schedule_runs import ScheduledTime


class EnqueueOptions(TypedDict, total=False):
    """How a run is queued; whatever is left out comes from the settings."""

    thread_id: str | None
    """Thread that it is on; None for a new one."""
    context: object
    """Options of the run, as RunContext or as JSON; None for the defaults."""
    ttl_s: float | None
    """Seconds after which it expires; None for the setting sessions.ttl_s."""
    schedule: ScheduledTime | None
    """Time of a schedule that queues it; None where a person or a program does."""


async def enqueue(door: Door, request: str, thread_id: str, options: EnqueueOptions) -> None:
    """Write a run down, with the versions that it is to run under, for a worker to take up.

    Raises QueueFull where as many wait as may, RunError where a run of the thread is open or the time of a
    schedule is taken, SetupError for a request that cannot begin one.
    """
    settings, context = door.settings, read_context(options.get("context"))
    await door.arrivals.check_tenant(thread_id, context)
    entry = {"messages": [{"role": "user", "content": request}]}
    run = door.arrivals.new_run(entry, thread_id, context, "queued")
    profile = profile_of(run, True, settings)
    versions = await door.versions.change(run, profile, context.snapshot)
    own_ttl_s = options.get("ttl_s")
    ttl_s = settings.sessions.ttl_s if own_ttl_s is None else own_ttl_s
    if not 0 < ttl_s <= LONGEST_S:  # what is no number is not above 0 either
        step = "give ttl_s in seconds, above 0 and up to ten years"
        raise SetupError(f"a session cannot expire {ttl_s:g} s from now", step)
    term = Term(ttl_s, options.get("schedule"))
    own = sorted(door.parts.own)
    await door.stores.queue.add(run, term, own, dict(versions.now), settings.queue.capacity)
