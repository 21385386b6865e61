"""Undoing a run: a new run of what its effects declare to be undone by, in reverse order.

Only a person asks for it. The new run passes verification, its gate, the gateway and the ledger like any
other; no model has a say in what it does.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count

from langchain_core.messages import HumanMessage, messages_to_dict

from planwright.capabilities.compensation import filled_in
from planwright.capabilities.compensation_check import compensation_of
from planwright.capabilities.registry import Registry
from planwright.domain.errors import CapabilityRejected, RunError
from planwright.domain.plan import Plan, PlanStep
from planwright.domain.run_context import RunContext, options_of
from planwright.domain.verified_step import VerifiedStep
from planwright.planning.verification import close_plan
from planwright.records.effects.undos import PastEffect
from planwright.records.forks import Fork
from planwright.records.runs import Run, new_run_id
from planwright.records.stores import Stores
from planwright.state.agent_state import Task

MOST_ID = 56  # of the 64 characters of a step id; the rest is for a number


@dataclass(frozen=True)
class CompensationStep:
    """An effect and the step that would undo it, or why there is none."""

    effect: PastEffect
    """The effect that is to be undone."""
    step: PlanStep | None
    """Step that would undo it; None where nothing can."""
    why_not: str = ""
    """Why there is no such step, in words; "" where there is one."""

    @property
    def name(self) -> str:
        """Name the effect by its step and capability."""
        step = f"{self.effect.step.step.id} " if self.effect.step else ""
        return step + self.effect.capability


class Undoing:
    """See what can be undone of a run, and begin the run that does it."""

    def __init__(self, stores: Stores, registry: Registry) -> None:
        self._stores = stores
        self._registry = registry

    async def look(self, name: str, without: Collection[str] = ()) -> list[CompensationStep]:
        """List the effects of a run, or of the newest of a thread, in the order they would be undone.

        Those of the steps `without` stay, with what they build on. Raises RunError for one without effects.
        """
        run = await self._stores.forks.run_named(name)
        effects = await self._stores.undos.effects_of(run.run_id)
        ids = [effect.step.step.id for effect in effects if effect.step]
        if unknown := sorted(set(without) - set(ids)):
            cause = f"step {unknown[0]} of run {run.run_id} has had no effect"
            raise RunError(cause, f"these have: {', '.join(dict.fromkeys(ids)) or 'none'}")
        steps = await self._stores.undos.steps_of(run.run_id)
        return compensation_steps(effects, steps, self._registry, without)

    async def count(self, name: str) -> int:
        """Say how many effects of a run could be undone; of one that undoes another, none."""
        run = await self._stores.forks.run_named(name)
        came = await self._stores.forks.of(run.run_id)
        return 0 if came and came.undo else sum(item.step is not None for item in await self.look(run.run_id))

    async def begin(
        self,
        name: str,
        context: RunContext | None = None,
        thread_id: str | None = None,
        without: Collection[str] = (),
    ) -> str:
        """Write down the run that undoes another, and return its thread; `invoke(None, …)` runs it.

        Of `context`, `channel`, `requested_by` and `gate_ttl_s` count; effects of the steps `without` stay.
        Raises RunError when there is nothing to undo, or the run has not ended; then nothing has changed.
        """
        run = await self._stores.forks.run_named(name)
        came = await self._stores.forks.of(run.run_id)
        if came and came.undo:
            cause = f"run {run.run_id} undoes {came.source_run}: it is not undone itself"
            raise RunError(cause, f"look at it: planwright show {run.run_id}")
        if not run.ended:
            raise RunError(
                f"run {run.run_id} has not ended", f"end it first: planwright cancel {run.thread_id}"
            )
        items = await self.look(run.run_id, without)
        planned = [(item.effect.key, item.step) for item in items if item.step]
        if not planned:
            why = "".join(f"\n  {item.name}: {item.why_not}" for item in items) or " it has had no effects"
            look = f"look at it: planwright show {run.run_id}"
            raise RunError(f"nothing of run {run.run_id} can be undone:{why}", look)
        new = _new_run(run, thread_id or str(uuid.uuid4()), context or RunContext(), self._stores.time.now())
        steps = tuple(step for _, step in planned)
        plan, _ = close_plan(Plan(goal=goal(run, items), steps=steps, on_failed_dependency="skip"))
        task = Task(task=new.request).model_dump(mode="json")
        fork = Fork(run_id=new.run_id, source_run=run.run_id, plan=plan, task=task, undo=True)
        undoes = {key: step.id for key, step in planned}
        await self._stores.undos.begin(new, fork, undoes, self._stores.time.now())
        return new.thread_id


def compensation_steps(
    effects: Sequence[PastEffect],
    steps: Sequence[VerifiedStep],
    registry: Registry,
    without: Collection[str] = (),
) -> list[CompensationStep]:
    """Find what undoes each effect, the newest first; each waits for those that build on what it undoes.

    Effects of the steps `without` stay, and so do those that they build on.
    """
    items: list[CompensationStep] = []
    taken: set[str] = set()
    staying: list[PastEffect] = []
    needs = {step.uid: set(step.needs) for step in steps}
    for effect in reversed(effects):
        if why := _why_it_stays(effect, without, staying, needs):
            staying.append(effect)
            items.append(CompensationStep(effect, None, why))
            continue
        try:
            step = _compensation(effect, registry, taken)
        except CapabilityRejected as error:
            items.append(CompensationStep(effect, None, error.cause))
            continue
        first = [item.step.id for item in items if item.step and builds_on(item.effect, effect, needs)]
        taken.add(step.id)
        items.append(CompensationStep(effect, step.model_copy(update={"depends_on": tuple(first)})))
    return items


def _why_it_stays(
    effect: PastEffect,
    without: Collection[str],
    staying: Sequence[PastEffect],
    needs: Mapping[str, set[str]],
) -> str:
    """Say why an effect is left as it is; "" for one that may be undone."""
    if effect.step and effect.step.step.id in without:
        return "it is left out"
    above = next((later for later in staying if builds_on(later, effect, needs)), None)
    return f"{above.capability}, which builds on it, is left out" if above else ""


def _compensation(effect: PastEffect, registry: Registry, taken: Collection[str]) -> PlanStep:
    """Make the step that undoes an effect. Raises CapabilityRejected when there is none."""
    if effect.undone == "done":
        raise CapabilityRejected(f"it was undone by {effect.undone_by}")
    if effect.undone == "in_doubt":
        raise CapabilityRejected(f"nobody knows whether {effect.undone_by} has undone it: look for it")
    if effect.still_sent_by:
        raise CapabilityRejected(f"{effect.still_sent_by} may still be sending it: wait for its end")
    compensation = compensation_of(effect, registry)
    if compensation is None:
        raise CapabilityRejected("no compensation is declared")
    if compensation.capability not in registry:
        raise CapabilityRejected(f"{compensation.capability}, which would undo it, is not to be used here")
    params = filled_in(compensation, effect.args, (effect.result,) if effect.certain else None)
    how = f"done {effect.ended[:19]} UTC" if effect.certain else "IN DOUBT: nobody knows whether it happened"
    name = f"undo_{effect.step.step.id if effect.step else effect.capability}"[:MOST_ID]
    return PlanStep(
        id=next(id_ for n in count(1) if (id_ := name if n == 1 else f"{name}_{n}") not in taken),
        capability=compensation.capability,
        params=params,
        description=f"undo {effect.capability}, {how}",
    )


def builds_on(later: PastEffect, earlier: PastEffect, needs: Mapping[str, set[str]]) -> bool:
    """Say whether an effect may build on another: by the plan, or because it began after the other had ended.

    A plan knows; of calls of agents and chains only the time is known.
    """
    if not (later.step and earlier.step and later.planned and earlier.planned):
        return later.began >= earlier.ended
    open_, seen = [later.step.uid], set[str]()
    while open_:
        uid = open_.pop()
        if uid == earlier.step.uid:
            return True
        if uid not in seen:
            seen.add(uid)
            open_ += needs.get(uid, ())
    return False


def goal(run: Run, items: Sequence[CompensationStep]) -> str:
    """Say what is undone, what of it is in doubt, and what is not undone and why."""
    planned = [item for item in items if item.step]
    parts = [f"Undo {len(planned)} of {len(items)} effects of {run.run_id}"]
    if doubtful := [item.name for item in planned if not item.effect.certain]:
        parts.append(f"nobody knows whether these happened: {', '.join(doubtful)}")
    parts += [f"not undone: {item.name}: {item.why_not}" for item in items if not item.step]
    return "; ".join(parts)


def _new_run(run: Run, thread_id: str, options: RunContext, now: datetime) -> Run:
    """Make the run that undoes another: for its tenant, by nobody's profile, as it is a person who asks."""
    provider, ttl = run.context.get("provider"), options.gate_ttl_s
    context = RunContext(
        tenant=run.tenant, channel=options.channel, requested_by=options.requested_by, gate_ttl_s=ttl
    )
    request = f"Undo {run.run_id}: {run.request}"
    return Run(
        run_id=new_run_id(),
        thread_id=thread_id,
        tenant=run.tenant,
        status="running",
        request=request,
        messages=messages_to_dict([HumanMessage(request)]),
        context={**options_of(context), "provider": provider},
        started_at=now.isoformat(),
    )
