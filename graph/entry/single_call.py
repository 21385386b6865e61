"""A run of one call: what a person asks for by name goes through gates, gateway and ledger as well.

It is a fork without results, of the run that the call comes from or of none, so that its plan is verified,
asked for, run and recovered like any other.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace

from langchain_core.messages import HumanMessage, messages_to_dict
from pydantic import JsonValue

from planwright.capabilities.arguments import as_called, misfits
from planwright.capabilities.registry import Registry
from planwright.capabilities.schema_paths import JsonSchema
from planwright.checkpoints.serde import storable
from planwright.domain.errors import SetupError
from planwright.domain.hashing import json_text
from planwright.domain.plan import Plan, PlanStep
from planwright.domain.references import has_reference
from planwright.domain.run_context import RunContext, options_of
from planwright.models.providers.router import EMBEDDED
from planwright.records.forks import Fork
from planwright.records.runs import Run, new_run_id
from planwright.records.stores import Stores
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
    source_run: str = ""
    """Run that the call comes from; "" for none."""
    purpose: str = ""
    """What it is for, spelled the same each time: one purpose has one open run at most; "" for a new run."""


def step_for(registry: Registry, name: str, args: Mapping[str, JsonValue]) -> PlanStep:
    """Make the step of a call. Raises SetupError for an unknown capability, and for wrong arguments."""
    capability = registry.require(name)
    wrong = list(misfits(capability, dict(args), literal=True))
    wrong += [f"{name}: {key}: a call refers to nothing" for key in args if has_reference(args[key])]
    try:
        storable(dict(args))
    except (TypeError, RecursionError) as error:
        wrong.append(f"{name}: what cannot be stored: {error}")
    if wrong:
        raise SetupError("; ".join(wrong), f"see its arguments: planwright capabilities {name}")
    sent = as_called(capability, dict(args), literal=True)
    # Nobody estimates its risk: that of the capability counts.
    return PlanStep(
        id="call",
        capability=name,
        params={key: sent[key] for key in args},
        description=f"Call {name}",
        estimated_risk="None",
    )


class SingleCalls:
    """Begin runs of one call that a person asks for by the name of its capability."""

    def __init__(self, stores: Stores, registry: Registry) -> None:
        self._stores = stores
        self._registry = registry

    def schema_of(self, name: str) -> JsonSchema:
        """Read the JSON schema of a capability's arguments. Raises SetupError for one that is not there."""
        return self._registry.require(name).args_schema

    async def begin(
        self, name: str, args: Mapping[str, JsonValue], context: RunContext, thread_id: str | None = None
    ) -> str:
        """Write down the run of a call, and return its thread; `invoke(None, …)` runs it.

        Raises SetupError for what is not there, or does not take these arguments; RunError for a thread
        that is not new.
        """
        step = step_for(self._registry, name, args)
        request = f"Call {name} {json_text(dict(step.params))}"
        offline = replace(context, provider=EMBEDDED.provider)
        thread_id = thread_id or str(uuid.uuid4())
        await write_down(self._stores, SingleCall(step, request), offline, thread_id)
        return thread_id


async def begin(stores: Stores, call: SingleCall, context: RunContext) -> str:
    """Write down the run of a call, if none is open for its purpose, and return its thread.

    Raises RunError while the run it comes from has not ended.
    """
    thread_id, open_run = await thread_for(stores, call.purpose or str(uuid.uuid4()))
    if open_run is not None:
        return thread_id
    await write_down(stores, call, context, thread_id)
    return thread_id


async def write_down(stores: Stores, call: SingleCall, context: RunContext, thread_id: str) -> None:
    """Write down the run of a call on a new thread. Raises RunError where the thread is not new."""
    at = (await stores.time.look()).now
    run = Run(
        run_id=new_run_id(),
        thread_id=thread_id,
        tenant=context.tenant,
        status="running",
        request=call.request,
        messages=messages_to_dict([HumanMessage(call.request, id=str(uuid.uuid4()))]),
        context=options_of(context),
        started_at=at.isoformat(),
    )
    plan = Plan(goal=call.request, steps=(call.step,))
    task = Task(task=call.request).model_dump(mode="json")
    fork = Fork(run_id=run.run_id, source_run=call.source_run, plan=plan, task=task)
    await stores.forks.begin(run, fork, [], at)
