"""Reading an edited plan: the next revision of the plan that was shown, and nothing lost on the way.

An edit comes in the shape of what the gate shows, or as a plan. What it leaves out of a step stays as
it was; a step it leaves out is removed; what it says and we would ignore is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from pydantic import ValidationError

from planwright.approvals.cards import Card, card_steps
from planwright.domain.errors import GateError
from planwright.domain.plan import AGENT, Plan, PlanStep
from planwright.domain.plan_diff import needs_of
from planwright.domain.references import step_references
from planwright.models.replies.plan_keys import PLAN, STEP, Form
from planwright.models.replies.plan_reading import explained

MAX_EDIT = 1_000_000
_STEP_FACTS = (
    "risk",
    "mode",
    "effect",
    "own_gate",
    "shown_later",
    "files",
    "origins",
    "follows",
    "gate_included",
    "chain",
    "tainted",
    "pin",
    "does",
    "deed",
    "described",
    "only_if",
    "idle",
    "rewrites",
    "undo_by",
    "marks",
    "values",
    "brought",
    "gates",
    "decisions",
    "versions",
    "done_before",
    "reason",
)
_PLAN_FACTS = (
    "request",
    "plan_id",
    "revision",
    "risk",
    "changes",
    "done",
    "estimate",
    "outside",
    "replans_left",
    "decisions",
)


def read_edit(edit: object, base: Plan, card: Card) -> Plan:
    """Read an edit of `base`, which was shown as `card`, as its next revision.

    Raises GateError, saying what cannot be taken over. Whether the plan may run is for the rules to say.
    """
    fields = _named(_plain(edit), PLAN, "the plan", _PLAN_FACTS)
    entries = fields.pop("steps", None)
    if not isinstance(entries, Sequence) or isinstance(entries, str | bytes):
        raise _refusal("the edited plan has no list `steps`")
    _facts_stay(fields, _PLAN_FACTS, card, "the plan")
    known = {step.id: step for step in base.steps}
    seen = {str(step["id"]): step for step in card_steps(card)}
    whole = [_step(entry, known, seen) for entry in entries]
    steps = [step for step, _ in whole]
    if all(step.closing for step in steps):
        raise GateError("the edit leaves no step that does anything", "reject the plan instead")
    after = {step.id: after for step, after in whole if after is not None}
    try:
        draft = Plan.model_validate({**base.model_dump(), **fields, "steps": steps + _closing(base, steps)})
        plan = _ordered(draft, after, seen)
        spelled = json.dumps(plan.model_dump(mode="json"), ensure_ascii=False, allow_nan=False).encode()
    except ValidationError as error:
        raise _refusal(f"the edited plan does not fit: {explained(error)}") from error
    except (ValueError, TypeError, RecursionError) as error:
        raise _refusal(f"the edited plan holds what cannot be stored: {error}") from error
    if len(spelled) > MAX_EDIT:
        raise _refusal(f"the edited plan is {len(spelled):,} bytes long, {MAX_EDIT:,} are allowed")
    return plan.model_copy(update={"revision": base.revision + 1})


def _plain(edit: object) -> object:
    """Read an edit that came as JSON text: chat pages let a person edit an object so, and send the text."""
    if not isinstance(edit, str):
        return edit
    if len(edit) > MAX_EDIT:
        raise _refusal(f"the edited plan is {len(edit):,} characters long, {MAX_EDIT:,} are allowed")
    try:
        return json.loads(edit)
    except (ValueError, RecursionError) as error:
        raise _refusal(f"the edited plan is no JSON: {error}") from error


def _step(
    entry: object, known: Mapping[str, PlanStep], seen: Mapping[str, Card]
) -> tuple[PlanStep, list[str] | None]:
    """Lay a given step over the one it changes; the second part is its `after`, where it has one."""
    fields = _named(entry, STEP, "a step", (*_STEP_FACTS, "after"))
    name = str(fields.get("id", ""))
    where = f"step {name!r}"
    _facts_stay(fields, _STEP_FACTS, seen.get(name, {}), where)
    after = fields.pop("after", None)
    if "depends_on" in fields and after is not None:
        raise _refusal(f"{where} has both `after` and `depends_on`")
    if after is not None and not _are_ids(after):
        raise _refusal(f"{where}: `after` is a list of step ids")
    fields = _agentic(fields, known.get(name), where)
    base = known[name].model_dump() if name in known else {}
    if base and fields.get("capability", base["capability"]) != base["capability"]:
        base["description"] = ""  # it told of another call
    try:
        step = PlanStep.model_validate({**base, **fields})
    except (ValidationError, RecursionError) as error:
        reason = explained(error) if isinstance(error, ValidationError) else "it is nested too deeply"
        raise _refusal(f"{where} does not fit: {reason}") from error
    return step, None if after is None else [str(id_) for id_ in after]


def _agentic(fields: dict[str, object], base: PlanStep | None, where: str) -> dict[str, object]:
    """Read a step shown as an agent with tools as the plan spells it: no capability, and hints."""
    name = fields.get("capability", base.shown_name if base else None)
    if name != AGENT:
        fixed = base is not None and base.agentic and name is not None
        return {"tool_hints": (), "returns": None, **fields} if fixed else fields
    params = fields.get("params")
    if isinstance(params, Mapping) and "tools" in params:
        if "tool_hints" in fields:
            raise _refusal(f"{where} has its tools twice")
        rest = {key: value for key, value in params.items() if key != "tools"}
        fields = {**fields, "params": rest, "tool_hints": params["tools"]}
    return {**fields, "capability": None}


def _ordered(draft: Plan, after: Mapping[str, list[str]], seen: Mapping[str, Card]) -> Plan:
    """Turn what steps come `after` into what they depend on.

    What is shown there includes what a step waits for by its references; that needs no declaration.
    """
    implied = needs_of(draft)
    steps = [
        step
        if step.id not in after or set(implied.get(step.id, ())) == set(after[step.id])
        else step.model_copy(update={"depends_on": tuple(after[step.id])})
        for step in draft.steps
    ]
    plan = draft.model_copy(update={"steps": tuple(steps)})
    for id_, needs in needs_of(plan).items():
        shown_after = seen.get(id_, {}).get("after")
        cut = set(shown_after if isinstance(shown_after, list) else ()) - set(after.get(id_, needs))
        if needed := [name for name in needs if name in cut]:
            why = "its params, inputs or condition refer to it"
            raise _refusal(f"step {id_!r} still needs {', '.join(needed)}: {why}")
    return Plan.model_validate(plan.model_dump())  # a copy would keep what was computed of the old steps


def _closing(base: Plan, steps: Sequence[PlanStep]) -> list[PlanStep]:
    """Keep the closing words of a plan, which no gate shows, without what they said of lost steps."""
    ids = {step.id for step in steps}
    keys = {step.key for step in steps}
    added = [step.id for step in steps if step.id not in {old.id for old in base.steps}]
    if any(step.closing for step in steps):
        return []
    return [
        step.model_copy(
            update={
                "depends_on": (*(id_ for id_ in step.depends_on if id_ in ids), *added),
                "inputs": tuple(key for key in step.inputs if key in keys),
                "params": step.params if ids.issuperset(step_references(step.params)) else {},
            }
        )
        for step in base.steps
        if step.closing and step.id not in ids
    ]


def _named(raw: object, form: Form, where: str, more: Sequence[str]) -> dict[str, object]:
    """Name fields as the model does. Raises GateError for what it does not know, and for one given twice."""
    if not isinstance(raw, Mapping):
        raise _refusal(f"{where} is no object")
    names = {**form.official, **{name: name for name in more}}
    fields: dict[str, object] = {}
    for key, value in raw.items():
        name = names.get(key) if isinstance(key, str) else None
        if name is None:
            raise _refusal(f"{where} has no field {key!r}: {form.nearest(str(key))}")
        if name in fields:
            raise _refusal(f"{where} has `{name}` twice")
        fields[name] = value
    return fields


def _facts_stay(fields: dict[str, object], facts: Sequence[str], card: Card, where: str) -> None:
    """Take out what follows from the rest of a plan. Raises GateError where it was changed."""
    for name in fields.keys() & set(facts):
        value = fields.pop(name)
        if name not in card or value != card[name]:
            raise _refusal(f"{where}: `{name}` follows from the rest, it cannot be set")


def _are_ids(after: object) -> TypeGuard[Sequence[str | int]]:
    if not isinstance(after, Sequence) or isinstance(after, str | bytes):
        return False
    return all(isinstance(id_, str | int) and not isinstance(id_, bool) for id_ in after)


def _refusal(cause: str) -> GateError:
    return GateError(cause, "mend the edit and send it again; the gate is still open")
