"""Steps that would overwrite the same thing at the same time (SPEC 3.4, `resource_conflict`).

What is not known beforehand is kept apart by locks when it runs (`capabilities/resource_locks.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Sequence

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.registry import Registry
from planwright.graph.errors import CapabilityRejected
from planwright.graph.plan import CheckedStep
from planwright.graph.results import Finding


def resource_conflicts(
    checked: Sequence[CheckedStep], ended: Container[str], registry: Registry, world: CallContext
) -> Iterator[Finding]:
    """Find every two steps of a plan, in topological order, that share a resource and no order.

    Steps whose uid has `ended` do not run again. A reference stands for itself: the same one has the
    same value, whatever that is.
    """
    before: dict[str, set[str]] = {}
    writers: dict[str, list[CheckedStep]] = defaultdict(list)
    for entry in checked:
        before[entry.uid] = set(entry.needs).union(*(before[uid] for uid in entry.needs))
        if entry.uid in ended:
            continue
        try:
            keys = overwritten(entry, registry, world)
        except CapabilityRejected as error:
            yield Finding(
                code="not_permitted", step_id=entry.step.id, message=error.cause, fix=error.next_step
            )
            continue
        for key in sorted(keys):
            for other in writers[key]:
                if other.uid not in before[entry.uid]:
                    yield _conflict(other.step.id, entry.step.id, key)
            writers[key].append(entry)


def overwritten(entry: CheckedStep, registry: Registry, world: CallContext) -> frozenset[str]:
    """Name what a step overwrites, as far as its arguments are written out; none for an agent's step."""
    found = registry.get(entry.step.capability or "")
    if found is None:
        return frozenset()
    return found.overwrites({**found.defaults, **entry.step.params}, world)


def _conflict(first: str, second: str, key: str) -> Finding:
    return Finding(
        code="resource_conflict",
        step_id=second,
        message=f"it may run at the same time as {first}, and both write {key}",
        fix=f"make one depend on the other, e.g. {second} on {first}, or write elsewhere",
    )
