"""Reading a plan that somebody wrote: every key means something, or is an error; nothing is left out.

What is read as something else than it is spelled is listed, so that it can be told.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import ValidationError

from planwright.domain.errors import PlanInvalid
from planwright.domain.hashing import canonical_json, problems_of
from planwright.domain.plan import CLOSING, Plan
from planwright.language.nouns import REMARKS
from planwright.models.replies.plan_keys import (
    CHECKPOINT,
    COMPENSATION,
    CRITERION,
    PLAN,
    STEP,
    Form,
    squeezed,
)
from planwright.models.replies.plan_wrappers import strict_json, wrapped

MOST_STEPS = 1000  # that are read at all; how many may be planned is a setting
MOST_MISTAKES = 8  # that are named at once: whoever mends a plan needs no more
_POSITION = frozenset(("step", "stepnumber", "number", "index", "order", "position", "no"))
_DOTTED = re.compile(r"[\w-]+(?:\.[\w-]+)+")
_LISTS = ("depends_on", "tool_hints", "requires")


class ReadPlan(NamedTuple):
    """A plan as it was understood; `read_as` says, a sentence each, what was read as something else."""

    plan: Plan
    """The plan as it was understood."""
    read_as: tuple[str, ...] = ()
    """What was read as something else, a sentence each."""


def read_plan(value: object) -> ReadPlan:
    """Read a plan from a JSON value: one plan object, a list of steps, or either in a wrapper.

    Raises PlanInvalid that names each key that means nothing, with its step and the nearest key there is.
    """
    reader = _Reader()
    fields = reader.plan(value)
    if reader.wrong:
        raise PlanInvalid("; ".join(reader.wrong[:MOST_MISTAKES]), "mend exactly that; leave nothing out")
    try:
        return ReadPlan(Plan.model_validate(fields), tuple(dict.fromkeys(reader.notes)))
    except ValidationError as error:
        raise PlanInvalid(
            f"the plan does not fit its schema: {explained(error)}", "mend exactly that"
        ) from error


def explained(error: ValidationError) -> str:
    """Put the first mistakes of a plan on one line: where, and what is wrong."""
    return problems_of(error, "plan")


@dataclass
class _Reader:
    """One reading: what was read as what, and all that is wrong."""

    notes: list[str] = field(default_factory=list)
    """What was read as something else, a sentence each."""
    wrong: list[str] = field(default_factory=list)
    """What cannot be read, a sentence each."""

    def plan(self, value: object) -> dict[str, Any]:
        value = self._unwrapped(value)
        if isinstance(value, list):
            self.notes.append("a list of steps is read as a plan")
            value = {"steps": value}
        fields = self._fields(value, PLAN, "the plan")
        entries = self._entries(fields.get("steps"))
        if entries is None:
            cause = "; ".join([*self.wrong[:MOST_MISTAKES], "the object has no list `steps`"])
            raise PlanInvalid(cause, 'answer {"goal": …, "steps": […]}')
        if len(entries) > MOST_STEPS:
            raise PlanInvalid(f"the plan has {len(entries):,} steps", "answer with a few")
        steps = [self._step(entry, number) for number, entry in enumerate(entries, 1)]
        self._identified(steps)
        self._typed_inputs(steps)
        fields["steps"] = steps
        if isinstance(fields.get("decision_checkpoints"), list):
            fields["decision_checkpoints"] = [
                self._as_texts(self._fields(entry, CHECKPOINT, f"decision checkpoint {number}"))
                for number, entry in enumerate(fields["decision_checkpoints"], 1)
            ]
        return fields

    def _unwrapped(self, value: object) -> object:
        """Take a plan out of what it came in: a wrapper, or the call of a tool."""
        for _ in range(4):
            inner = wrapped(value)
            if inner is None:
                break
            self.notes.append("the plan is read out of what it was wrapped in")
            value = inner
        return value

    def _entries(self, steps: object) -> list[Any] | None:
        """Read the steps as a list; an object of steps names each by its id."""
        if isinstance(steps, Mapping) and steps and all(isinstance(step, Mapping) for step in steps.values()):
            self.notes.append("steps by their ids are read as a list")
            return [self._with_id(str(name), dict(step)) for name, step in steps.items()]
        return steps if isinstance(steps, list) else None

    def _with_id(self, name: str, step: dict[str, Any]) -> dict[str, Any]:
        known = [value for key, value in step.items() if STEP.field(str(key)) == "id"]
        if any(str(value) != name for value in known):
            self.wrong.append(f"step {name!r} names itself {known[0]!r}: give it one id")
        return step if known else {"id": name, **step}

    def _fields(self, value: object, form: Form, where: str) -> dict[str, Any]:
        """Name the fields of an object as its model does, without what is null."""
        fields: dict[str, Any] = {}
        if not isinstance(value, Mapping):
            self.wrong.append(f"{where} is no object")
            return fields
        for key, field_value in value.items():
            name = form.field(str(key))
            if name is None and squeezed(str(key)) in REMARKS and isinstance(field_value, str | None):
                self.notes.append(f"{where}: `{key}` is a remark, and plans nothing")
            elif name is None:
                self.wrong.append(f"{where} has no field `{key}`: {form.nearest(str(key))}")
            elif field_value is not None or name == "estimated_risk":
                self._put(fields, name, str(key), field_value, form, where)
        return fields

    def _put(self, fields: dict[str, Any], name: str, key: str, value: Any, form: Form, where: str) -> None:
        if key not in form.official:
            self.notes.append(f"{where}: `{key}` is read as `{name}`")
        if form is STEP:
            value = self._step_value(name, value, where)
        if name in fields and canonical_json(fields[name]) != canonical_json(value):
            self.wrong.append(f"{where} says `{name}` twice, and not the same: keep one")
        fields[name] = value

    def _step(self, entry: object, number: int) -> dict[str, Any]:
        where = _where(entry, number)
        if not isinstance(entry, Mapping):
            self.wrong.append(f"{where} is no object")
            return {}
        fields = self._fields(self._called(entry, where, number), STEP, where)
        if isinstance(criterion := fields.get("success_criteria"), Mapping):
            fields["success_criteria"] = self._fields(criterion, CRITERION, f"{where}, success_criteria")
        if isinstance(undo := fields.get("compensation"), Mapping):
            fields["compensation"] = self._fields(undo, COMPENSATION, f"{where}, compensation")
        return fields

    def _called(self, entry: Mapping[Any, Any], where: str, number: int) -> dict[str, Any]:
        """Rename the keys of a step whose meaning lies in what they hold, or in what is beside them."""
        known = {STEP.field(str(key)) for key in entry if key != "name"}
        step: list[tuple[str, Any]] = []
        for key, value in ((str(key), value) for key, value in entry.items()):
            meaning, short = STEP.field(key), squeezed(key)
            if meaning == "capability" and isinstance(value, Mapping):
                self.notes.append(f"{where}: the call in `{key}` is read as its capability and params")
                step += [("capability" if k == "name" else str(k), v) for k, v in value.items()]
            elif key == "name" and isinstance(value, str):
                step.append((self._name(value, known, where), value))
            elif short == "input" and isinstance(value, Mapping | list):
                name = "params" if isinstance(value, Mapping) else "inputs"
                self.notes.append(f"{where}: `{key}` is read as `{name}`")
                step.append((name, value))
            elif short in _POSITION and meaning is None and _is_number(value):
                if "id" not in known:
                    self.notes.append(f"{where}: `{key}` is read as `id`")
                    step.append(("id", value))
                elif int(value) in (number, number - 1):
                    self.notes.append(f"{where}: `{key}` is its place in the list")
                else:
                    self.wrong.append(
                        f"{where} is number {value} and stands at {number}: order is `depends_on`"
                    )
            else:
                step.append((key, value))
        return self._once(step, where)

    def _name(self, value: str, known: Collection[str | None], where: str) -> str:
        """Say what the `name` of a step is: what it calls where that is plain, else what it is about."""
        callable_ = "params" in known or _DOTTED.fullmatch(value) or value in CLOSING
        name = "capability" if "capability" not in known and callable_ else "description"
        if name == "description" and name in known:
            name = "name"  # nobody can tell, so it is refused
        else:
            self.notes.append(f"{where}: `name` is read as `{name}`")
        return name

    def _once(self, pairs: Sequence[tuple[str, Any]], where: str) -> dict[str, Any]:
        step: dict[str, Any] = {}
        for key, value in pairs:
            if key in step and canonical_json(step[key]) != canonical_json(value):
                self.wrong.append(f"{where} says `{key}` twice, and not the same: keep one")
            step[key] = value
        return step

    def _step_value(self, name: str, value: Any, where: str) -> Any:
        """Read a value that models write in more than one way."""
        if name in _LISTS and isinstance(value, str | int) and not isinstance(value, bool):
            parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else [str(value)]
            self.notes.append(f"{where}: `{name}` is read as a list")
            return [part for part in parts if part]
        if name == "depends_on" and isinstance(value, list):
            return [str(id_) if _is_number(id_) else id_ for id_ in value]
        if name == "params" and isinstance(value, str):
            return self._inner_json(value, where)
        return value

    def _inner_json(self, text: str, where: str) -> Any:
        """Read params that are JSON in a text, as in the call of a tool."""
        try:
            value = strict_json(text or "{}")
        except ValueError:
            return text  # refused as params that are no object
        self.notes.append(f"{where}: the text in `params` is read as JSON")
        return value

    def _identified(self, steps: list[dict[str, Any]]) -> None:
        """Give each step its id: its own, its context key, or `s1`, `s2` … where no step has either."""
        nameless = not any("id" in step or "context_key" in step for step in steps)
        for number, step in enumerate(steps, 1):
            if "id" in step or not step:
                continue
            if "context_key" in step:
                step["id"] = step["context_key"]
                self.notes.append(f"step {number}: its context_key is its id, too")
            elif nameless:
                step["id"] = f"s{number}"
                self.notes.append(f"step {number} is named s{number}")
            elif step.get("capability") in CLOSING and number == len(steps):
                step["id"] = step["capability"]
            else:
                self.wrong.append(f"step {number} has no `id`: give each step its own")

    def _typed_inputs(self, steps: list[dict[str, Any]]) -> None:
        """Read `{"TYPE": "key"}` among inputs as the key; the type is what its step is expected to bring."""
        by_key = {str(step.get("context_key") or step.get("id")): step for step in steps}
        for step in steps:
            if not isinstance(step.get("inputs"), list):
                continue
            keys: list[Any] = []
            for entry in step["inputs"]:
                if not isinstance(entry, Mapping):
                    keys.append(entry)
                    continue
                for kind, key in entry.items():
                    keys.append(key)
                    self._typed(step, str(kind), by_key.get(key) if isinstance(key, str) else None)
            step["inputs"] = keys

    def _typed(self, step: Mapping[str, Any], kind: str, producer: dict[str, Any] | None) -> None:
        self.notes.append(f"step {step.get('id')!r}: inputs by type are read as their keys")
        if producer is None:
            return  # verification names the key that nobody publishes
        if producer.setdefault("expected_output", kind) != kind:
            has = producer["expected_output"]
            self.wrong.append(
                f"step {step.get('id')!r} takes {kind} from {producer.get('id')!r}, which brings {has}"
            )

    def _as_texts(self, fields: dict[str, Any]) -> dict[str, Any]:
        return {name: str(value) if _is_number(value) else value for name, value in fields.items()}


def _is_number(value: object) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (
        isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 6
    )


def _where(entry: object, number: int) -> str:
    id_ = entry.get("id") if isinstance(entry, Mapping) else None
    return f"step {id_!r}" if isinstance(id_, str | int) else f"step {number}"
