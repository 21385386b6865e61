"""Where the steps of a plan stand: in columns by what they wait for, with room left for lines that pass by.

After Sugiyama, Tagawa, Toda (1981): layers by longest path, points where a line crosses a layer, and an
order within each layer by the mean place of what comes before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SWEEPS = 4


@dataclass(frozen=True)
class Place:
    """A place in the grid."""

    column: int
    """Column, from the left, counted from 0."""
    row: float
    """Row within the column, from the top, counted from 0; columns are centred."""


@dataclass(frozen=True)
class Layout:
    """Where steps stand, and which places their lines pass."""

    places: Mapping[str, Place]
    """Place of each step, by its id."""
    lines: Mapping[tuple[str, str], Sequence[Place]]
    """Places that the line from one step to another passes, both ends included."""
    columns: int
    """How many columns there are."""
    rows: int
    """How many rows the fullest column has."""


def lay_out(after: Mapping[str, Sequence[str]]) -> Layout:
    """Lay steps out by which others each comes after; what names no step, or itself, is left out.

    Steps in a circle stand where it is met first. Pure: the same steps stand in the same places.
    """
    needs = {id_: [name for name in names if name in after and name != id_] for id_, names in after.items()}
    column = _columns(needs)
    layers: list[list[str]] = [[] for _ in range(max(column.values(), default=-1) + 1)]
    for id_, number in column.items():
        layers[number].append(id_)
    paths, before = _paths(needs, column, layers)
    _sort(layers, before)
    widest = max(map(len, layers), default=0)
    spot = {
        name: Place(number, row + (widest - len(layer)) / 2)
        for number, layer in enumerate(layers)
        for row, name in enumerate(layer)
    }
    places = {id_: spot[id_] for id_ in after}
    lines = {pair: [spot[name] for name in names] for pair, names in paths.items()}
    return Layout(places, lines, len(layers), widest)


def _columns(needs: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Number the column of each step: one more than the last of what it comes after."""
    column: dict[str, int] = {}
    for start in needs:
        stack, open_ = [start], set[str]()
        while stack:
            id_ = stack[-1]
            waiting = [name for name in needs[id_] if name not in column and name not in open_]
            if id_ not in column and waiting and id_ not in open_:
                open_.add(id_)
                stack += waiting
                continue
            stack.pop()
            column.setdefault(
                id_, max((column[name] + 1 for name in needs[id_] if name in column), default=0)
            )
    return {id_: column[id_] for id_ in needs}


def _paths(
    needs: Mapping[str, Sequence[str]], column: Mapping[str, int], layers: list[list[str]]
) -> tuple[dict[tuple[str, str], list[str]], dict[str, list[str]]]:
    """Lead each line through every layer between its ends; put the points that it passes into them."""
    paths: dict[tuple[str, str], list[str]] = {}
    before: dict[str, list[str]] = {id_: [] for id_ in needs}
    for id_, names in needs.items():
        for name in dict.fromkeys(names):
            if column[name] >= column[id_]:
                continue
            path = [name]
            for number in range(column[name] + 1, column[id_]):
                point = f"\0{name}\0{id_}\0{number}"
                layers[number].append(point)
                before[point] = [path[-1]]
                path.append(point)
            before[id_].append(path[-1])
            paths[name, id_] = [*path, id_]
    return paths, before


def _sort(layers: list[list[str]], before: Mapping[str, Sequence[str]]) -> None:
    """Order each layer by the mean row of its neighbours, to and fro, so that few lines cross."""
    behind: dict[str, list[str]] = {}
    for name, names in before.items():
        for other in names:
            behind.setdefault(other, []).append(name)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        neighbours = before if down else behind
        for layer in layers if down else reversed(layers):
            row = {name: number for each in layers for number, name in enumerate(each)}
            mean = {
                name: sum(row[other] for other in neighbours.get(name, ())) / len(neighbours[name])
                if neighbours.get(name)
                else row[name]
                for name in layer
            }
            layer.sort(key=lambda name: mean[name])
