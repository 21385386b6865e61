"""The order of a plan: cycles, topological order and waves (Kahn's algorithm, from graphlib)."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter


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
