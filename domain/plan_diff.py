"""What a revision of a plan changes, in plain lines for the person who approves it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher

from pydantic import JsonValue

from planwright.domain.plan import Plan, PlanStep
from planwright.domain.schedule import topological

_APART = frozenset(("id", "capability", "params", "depends_on"))  # told in their own way
_FIELDS = tuple(name for name in PlanStep.model_fields if name not in _APART)
_ABSENT = object()


def needs_of(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Map each step that does something to those it waits for, in any way; unknown ones are left out."""
    ids = {step.id for step in plan.work}
    return {step.id: tuple(n for n in plan.dependencies(step) if n in ids) for step in plan.work}


def changes(before: Plan, after: Plan) -> list[str]:
    """List what differs, one change a line; empty when the person would see and get the same.

    Both plans have to be free of cycles.
    """
    old, new = ({step.id: step for step in plan.steps} for plan in (before, after))
    lines = [f"removed {id_} {step.shown_name}" for id_, step in old.items() if id_ not in new]
    lines += [f"added {id_} {step.shown_name}" for id_, step in new.items() if id_ not in old]
    for name in ("goal", "on_failed_dependency"):
        lines += _values(name, getattr(before, name), getattr(after, name))
    was, is_ = (_decisions(plan) for plan in (before, after))
    lines += [f"removed {text}" for text in was if text not in is_]
    lines += [f"added {text}" for text in is_ if text not in was]
    waits = needs_of(before), needs_of(after)
    for id_ in (id_ for id_ in new if id_ in old):
        lines += [f"changed {id_} {line}" for line in _step(old[id_], new[id_], waits)]
    return lines + list(_moves(topological(waits[0]), topological(waits[1])))


def _step(
    old: PlanStep, new: PlanStep, waits: tuple[Mapping[str, Sequence[str]], Mapping[str, Sequence[str]]]
) -> Iterator[str]:
    if old.shown_name != new.shown_name:
        yield f"capability: {old.shown_name} → {new.shown_name}"
    yield from _diff("params", dict(old.params), dict(new.params))
    was, is_ = (list(plan.get(new.id, ())) for plan in waits)
    if set(was) != set(is_):
        yield f"after: {', '.join(was) or 'nothing'} → {', '.join(is_) or 'nothing'}"
    a, b = (step.model_dump(mode="json", include=set(_FIELDS)) for step in (old, new))
    for name in _FIELDS:
        yield from _diff(name, a[name], b[name])


def _decisions(plan: Plan) -> list[str]:
    return [
        f"decision {_format(each.decision_id)} after {each.after_step}" for each in plan.decision_checkpoints
    ]


def _values(name: str, old: JsonValue, new: JsonValue) -> list[str]:
    return [f"changed {line}" for line in _diff(name, old, new)]


def _diff(name: str, old: object, new: object) -> Iterator[str]:
    """Compare two JSON values; objects by their keys, everything else whole."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            yield from _diff(f"{name}.{key}", old.get(key, _ABSENT), new.get(key, _ABSENT))
    elif _format(old) != _format(new):
        yield f"{name}: {_format(old)} → {_format(new)}"


def _format(value: object) -> str:
    return "nothing" if value is _ABSENT else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _moves(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Name the steps that changed places among those that stay."""
    old = [id_ for id_ in before if id_ in after]
    new = [id_ for id_ in after if id_ in before]
    matcher = SequenceMatcher(a=old, b=new, autojunk=False)
    unmoved = {id_ for block in matcher.get_matching_blocks() for id_ in old[block.a : block.a + block.size]}
    for position, id_ in enumerate(new):
        if id_ not in unmoved:
            yield f"moved {id_} " + (f"behind {new[position - 1]}" if position else "to the front")
