"""A run of one given call: what a person asks for by name goes through gates, gateway and ledger as well.

It is a fork without results of the run that the call comes from, so that its origin is on record, and so
that the plan is verified, asked for, run and recovered like any other.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from langchain_core.messages import HumanMessage, messages_to_dict

from planwright.checkpoints.forks import Fork
from planwright.checkpoints.runs import Run
from planwright.checkpoints.stores import Stores
from planwright.domain.plan import Plan, PlanStep
from planwright.domain.run_context import RunContext, options_of
from planwright.state.agent_state import Task


async def thread_for(stores: Stores, purpose: str) -> tuple[str, Run | None]:
    """Find the thread that a purpose has, and the run that is open on it; a new one where all have ended.

    The same purpose has the same threads, in any process: it is never begun twice at a time.
    """
    attempt = 0
    while True:
        thread_id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{purpose}:{attempt}"))
        run = await stores.runs.latest(thread_id)
        if run is None or not run.ended:
            return thread_id, run
        attempt += 1


@dataclass(frozen=True)
class SingleCall:
    """One call that a person asks for by name."""

    step: PlanStep
    """The call, as the only step of a plan."""
    request: str
    """What is asked for, in words."""
    source_run: str
    """Run that the call comes from."""
    purpose: str
    """What it is for, spelled the same each time: one purpose has one open run at most."""


async def begin(stores: Stores, call: SingleCall, context: RunContext, now: Callable[[], datetime]) -> str:
    """Write down the run of a call, if none is open for its purpose, and return its thread.

    Raises RunError while the run it comes from has not ended.
    """
    thread_id, open_run = await thread_for(stores, call.purpose)
    if open_run is not None:
        return thread_id
    run = Run(
        run_id=f"run_{uuid.uuid4().hex[:16]}",
        thread_id=thread_id,
        tenant=context.tenant,
        status="running",
        request=call.request,
        messages=messages_to_dict([HumanMessage(call.request, id=str(uuid.uuid4()))]),
        context=options_of(context),
        started_at=now().isoformat(),
    )
    plan = Plan(goal=call.request, steps=(call.step,))
    task = Task(task=call.request).model_dump(mode="json")
    fork = Fork(run_id=run.run_id, source_run=call.source_run, plan=plan, task=task)
    await stores.forks.begin(run, fork, [], now())
    return thread_id
