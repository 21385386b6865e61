"""The order of steps that use the same things (reads, adds and writes), where their plan gives them none.

What is not known beforehand is kept apart by locks when it runs (`capabilities/gateway/locks.py`).
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.registry import Registry
from planwright.capabilities.resources import Uses, all_of, shown_name
from planwright.capabilities.uses import uses_of, uses_of_tool
from planwright.domain.errors import CapabilityRejected
from planwright.domain.plan import DELEGATE, Plan, PlanStep
from planwright.domain.results import Finding
from planwright.domain.schedule import order_edges, topological
from planwright.domain.verified_step import OrderEdge, VerifiedStep


def in_order(
    plan: Plan,
    checked: Sequence[VerifiedStep],
    ended: Container[str],
    registry: Registry,
    call_context: CallContext,
) -> tuple[list[VerifiedStep], list[Finding]]:
    """Let every step wait for the earlier ones of its plan that use what it uses, unless it does so anyway.

    Steps whose uid has `ended` do not run again: nobody waits for them. A broken declaration is a finding.
    """
    by_id = {entry.step.id: entry for entry in checked}
    written = [by_id[step.id] for step in plan.work if step.id in by_id]
    uses: dict[str, Uses] = {}
    findings = []
    for entry in written:
        try:
            uses[entry.uid] = uses_of_step(entry.step, registry, call_context)
        except CapabilityRejected as error:
            uses[entry.uid] = Uses()
            findings.append(
                Finding(code="not_permitted", step_id=entry.step.id, message=error.cause, fix=error.next_step)
            )
    needs = {entry.uid: entry.needs for entry in written}
    edges = order_edges(needs, ended, lambda earlier, later: uses[earlier].shared(uses[later]))
    by_uid = {entry.uid: _following(entry, edges.get(entry.uid, {})) for entry in written}
    return [
        by_uid[uid] for uid in topological({uid: before(entry) for uid, entry in by_uid.items()})
    ], findings


def uses_of_step(step: PlanStep, registry: Registry, call_context: CallContext) -> Uses:
    """Name what a step uses; of one that a model does, what its tools may. Raises CapabilityRejected."""
    if step.agentic:
        tools = (registry.get(name) for name in step.tool_hints if name != DELEGATE)
        return all_of(uses_of_tool(tool, call_context) for tool in tools if tool)
    capability = registry.get(step.capability or "")
    return Uses() if capability is None else uses_of(capability, step.params, call_context)


def before(entry: VerifiedStep) -> tuple[str, ...]:
    """List all that a step waits for: what it needs, and what it only follows."""
    return (*entry.needs, *(edge.uid for edge in entry.follows))


def _following(entry: VerifiedStep, edges: Mapping[str, str]) -> VerifiedStep:
    if not edges:
        return entry
    follows = tuple(OrderEdge(uid=uid, resource=shown_name(name)) for uid, name in edges.items())
    return entry.model_copy(update={"follows": follows})
