"""The plan of a gate as fields of a form, and the edit that the fields say. Pure.

A text stands in its field as it is; any other value as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planwright.domain.errors import GateError
from planwright.presentation.rows import Card


@dataclass(frozen=True)
class EditedValue:
    """One argument of a step, in a field."""

    field: str
    """Name of the field."""
    name: str
    """Name of the argument."""
    text: str
    """What the field holds."""
    is_json: bool
    """Whether the field holds JSON, and no plain text."""
    rows: int
    """How many lines the field shows."""


@dataclass(frozen=True)
class EditedStep:
    """One step of a plan, in fields."""

    number: int
    """Number of the step, counted from 1."""
    id: str
    """Id of the step."""
    name: str
    """Name of what it calls."""
    description: str
    """What the planner says that it does."""
    values: Sequence[EditedValue]
    """Its condition, where it has one, and its arguments."""
    dropped: bool
    """Whether it is to be left out."""


def edited_steps(card: Card, form: Mapping[str, Sequence[str]]) -> list[EditedStep]:
    """Put the steps of a card into fields, with what was typed already."""
    return [
        EditedStep(
            number,
            str(step["id"]),
            str(step["capability"]),
            str(step["description"]),
            [
                *([_value(number, "when", "only if", step["when"], form)] if "when" in step else ()),
                *(
                    _value(number, position, name, value, form)
                    for position, (name, value) in enumerate(step["params"].items())
                ),
            ],
            f"drop-{number}" in form,
        )
        for number, step in enumerate(card.get("steps", ()), 1)
    ]


def edit_of(form: Mapping[str, Sequence[str]], card: Card) -> dict[str, object]:
    """Read the edit that the fields say. Raises GateError for a field whose JSON cannot be read."""
    steps = []
    for number, step in enumerate(card["steps"], 1):
        if f"drop-{number}" in form:
            continue
        params = {
            name: _read(number, position, name, value, form)
            for position, (name, value) in enumerate(step["params"].items())
        }
        same = {key: step[key] for key in ("id", "capability", "description", "after")}
        same |= {"when": _read(number, "when", "when", step["when"], form)} if "when" in step else {}
        gone = {str(other["id"]) for n, other in enumerate(card["steps"], 1) if f"drop-{n}" in form}
        after = [id_ for id_ in step["after"] if str(id_) not in gone]
        steps.append({**same, "params": params, "after": after})
    return {"goal": card["goal"], "steps": steps}


def _value(
    number: int, position: int | str, name: str, value: object, form: Mapping[str, Sequence[str]]
) -> EditedValue:
    field = f"param-{number}-{position}"
    is_json = not isinstance(value, str)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    typed = form.get(field, [text])[0].replace("\r\n", "\n")
    return EditedValue(field, name, typed, is_json, min(12, typed.count("\n") + 1 + len(typed) // 90))


def _read(
    number: int, position: int | str, name: str, value: object, form: Mapping[str, Sequence[str]]
) -> object:
    typed = form.get(f"param-{number}-{position}")
    if typed is None:
        return value
    text = typed[0].replace("\r\n", "\n")
    if isinstance(value, str):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        cause = f"step {number}: {name} is no JSON: {error}"
        raise GateError(cause, "mend the field; the gate is still open") from error
