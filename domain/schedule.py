"""The order of a plan (Kahn's algorithm, from graphlib): cycles, waves, and which steps are skipped."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Literal

from planwright.domain.plan import Cascade
from planwright.domain.results import StepResult

Fate = Literal["run", "skip"]


def find_cycle(needs: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Name the steps of one dependency cycle, the first repeated at the end; empty when none."""
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return tuple(reversed(error.args[1]))
    return ()


def waves(needs: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """Split a DAG into batches: each holds the steps whose dependencies lie in earlier ones."""
    sorter = TopologicalSorter(needs)
    sorter.prepare()
    batches = []
    while sorter.is_active():
        ready = sorter.get_ready()
        batches.append(tuple(sorted(ready, key=list(needs).index)))
        sorter.done(*ready)
    return batches


def topological(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Order a DAG so that every step follows its dependencies, otherwise as it was written."""
    written = {name: position for position, name in enumerate(needs)}
    sorter = TopologicalSorter(needs)
    sorter.prepare()
    ordered: list[str] = []
    ready: list[tuple[int, str]] = []
    while sorter.is_active():
        for name in sorter.get_ready():
            heapq.heappush(ready, (written[name], name))
        _, name = heapq.heappop(ready)
        ordered.append(name)
        sorter.done(name)
    return ordered


def all_needs(name: str, needs: Mapping[str, Iterable[str]]) -> set[str]:
    """List all that a step waits for, directly or not, by name; in a circle it waits for itself, too."""
    needed: set[str] = set()
    pending = list(needs.get(name, ()))
    while pending:
        if (other := pending.pop()) not in needed:
            needed.add(other)
            pending += needs.get(other, ())
    return needed


def order_edges(
    needs: Mapping[str, Sequence[str]], done: Container[str], shared: Callable[[str, str], str | None]
) -> dict[str, dict[str, str]]:
    """Order every two nodes of a DAG that share something and do not wait for each other anyway.

    `needs` is in the order of writing: the node written first comes first, unless it needs the other one.
    Nodes that are `done` run no more, and nobody waits for what they have waited for. `shared` names what two
    nodes share, None where nothing. Returns, for each node that gets an edge, the nodes it comes after and
    what it shares with them. No cycle can close.
    """
    names = list(needs)
    before = _ancestors(needs, ())
    waits = _ancestors(needs, done)
    edges: dict[str, dict[str, str]] = {}
    for second in range(len(names)):
        for first in reversed(range(second)):
            if waits[second] >> first & 1 or waits[first] >> second & 1:
                continue
            if names[first] in done or names[second] in done:
                continue
            if (resource := shared(names[first], names[second])) is None:
                continue
            turned = before[first] >> second & 1
            earlier, later = (second, first) if turned else (first, second)
            edges.setdefault(names[later], {})[names[earlier]] = resource
            _lead(before, earlier, later)
            _lead(waits, earlier, later)
    return edges


def _ancestors(needs: Mapping[str, Sequence[str]], done: Container[str]) -> list[int]:
    """List what each node waits for, directly or not, as a set of bits, by the places of the nodes."""
    place = {name: position for position, name in enumerate(needs)}
    above = [0] * len(place)
    for name in topological(needs):
        for earlier in needs[name] if name not in done else ():
            if earlier not in done:
                above[place[name]] |= above[place[earlier]] | 1 << place[earlier]
    return above


def _lead(ancestors: list[int], earlier: int, later: int) -> None:
    """Put an edge into sets of ancestors."""
    gained = ancestors[earlier] | 1 << earlier
    for other, known in enumerate(ancestors):
        if other == later or known >> later & 1:
            ancestors[other] |= gained


def cascade_decision(
    needs: Sequence[str], results: Mapping[str, StepResult], cascade: Cascade
) -> tuple[Fate, tuple[str, ...]]:
    """Decide whether a step runs, and name the steps whose results it has to do without."""
    missing = tuple(results[uid].step_id for uid in needs if results[uid].status != "completed")
    if not missing:
        return "run", ()
    nothing_left = len(missing) == len(needs)
    return ("skip" if cascade == "skip" or nothing_left else "run"), missing
