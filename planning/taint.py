"""Taint: whether a call comes after text that others wrote, by the record and never by the state.

What a capability returns is such text unless it is declared a `trusted_result`. A lane is tainted by what it
has called, by what opened it, and, where it answers the user, by earlier runs of its thread. One that is told
of tools in the words of an MCP server, or of tables by their names, is tainted before its first call.
"""

from __future__ import annotations

from collections.abc import Iterable

from planwright.capabilities.gateway.gateway import Gateway
from planwright.capabilities.registry import Registry
from planwright.domain.plan import AGENT, DELEGATE, Plan, PlanStep
from planwright.language.first_person import PASTE_MARKS, PASTES
from planwright.planning.step_identity import earlier_uids
from planwright.records.effects.ledger import Ledger
from planwright.state.invocation import Invocation
from planwright.state.loop_state import LoopTask

MAIN = "main"


class Taint:
    """Look up what was read before a call."""

    def __init__(self, gateway: Gateway, ledger: Ledger) -> None:
        self._gateway = gateway
        self._ledger = ledger

    async def of_lane(self, loop: LoopTask, invocation: Invocation) -> bool:
        """Say whether the next call of a loop comes after untrusted text."""
        lanes = [loop.lane]  # an attempt at a step is told of how the one before it ended
        if loop.lane == MAIN:
            opened = await self.of_thread(invocation)
        else:
            step = await self._gateway.approved(invocation.lease, loop.plan_hash, loop.lane)
            opened = step is None or step.tainted
            lanes += earlier_uids(invocation.run_id, step) if step and step.step.agentic else []
        if opened:
            return True
        called: set[str] = set()
        for lane in lanes:
            called |= await self._ledger.called_in(invocation.run_id, f"{lane}.")
        if DELEGATE in called:  # what its lane has called is on record under the name of that lane
            called |= await self._ledger.called_in(invocation.run_id, "")
        return untrusted(called, self._gateway.registry)

    async def of_thread(self, invocation: Invocation) -> bool:
        """Say whether a run begins after untrusted text: of others, pasted by the user, or read before it."""
        if invocation.foreign or pastes(invocation.words):
            return True
        called = await self._ledger.called_before(invocation.run_id, invocation.thread_id)
        return untrusted(called, self._gateway.registry)

    async def of_plan(self, invocation: Invocation) -> bool:
        """Say whether a plan was made after untrusted text: of the thread, or of its own run so far."""
        called = await self._ledger.called_in(invocation.run_id, "")
        return untrusted(called, self._gateway.registry) or await self.of_thread(invocation)


def pastes(text: str) -> bool:
    """Say whether a text of the user's holds what others wrote: fenced, marked up, or a mail passed on."""
    folded = text.lower()
    return any(mark in folded for mark in PASTE_MARKS) and PASTES.search(text) is not None


def untrusted(names: Iterable[str], registry: Registry) -> bool:
    """Say whether one of some capabilities may have returned what others wrote; one that is gone may.

    An agent returns what its own calls did, and they are on record beside it.
    """
    read = (registry.get(name) for name in names if name not in (AGENT, DELEGATE))
    return any(capability is None or not capability.trusted_result for capability in read)


def tainted_steps(plan: Plan, registry: Registry, opening: bool) -> frozenset[str]:
    """Name the steps of a plan whose arguments may hold untrusted text; all of them where the plan may.

    A fixed call uses the results that it refers to, and those that decide whether it is made; a model those
    of all steps before its own. What a model writes in a step counts like what others wrote: nobody has seen
    it when the plan is approved.
    """
    if opening:
        return frozenset(step.id for step in plan.steps)
    by_id = {step.id: step for step in plan.steps}
    tainted: set[str] = set()
    grew = True
    while grew:
        grew = False
        for step in plan.steps:
            sources = plan.dependencies(step) if step.agentic else _used(plan, step)
            reads = (id_ in tainted or _untrusted_step(by_id.get(id_), registry) for id_ in sources)
            if step.id not in tainted and any(reads):
                tainted.add(step.id)
                grew = True
    return frozenset(tainted)


def _used(plan: Plan, step: PlanStep) -> list[str]:
    by_key = (plan.producers[key] for key in step.inputs if key in plan.producers)
    return [*step.references, *step.conditions, *by_key]


def _untrusted_step(step: PlanStep | None, registry: Registry) -> bool:
    return step is None or step.agentic or untrusted((step.capability or "",), registry)
