"""Compose a plan from a request: clauses to actions, actions to steps."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from planwright.models.offline import actions
from planwright.models.offline.clauses import Clause, clause, quoted, split
from planwright.models.offline.draft import CannotPlan, Draft, NeedsAnswer
from planwright.models.offline.lexicon import KNOWN, NAME_VERBS, UNSUPPORTED

_BY_ACTION: dict[str, Callable[[Draft, Clause], None]] = {
    "search": actions.look,
    "get": actions.look,
    "list": actions.look,
    "show": actions.look,
    "read": actions.look,
    "create": actions.create,
    "save": actions.save,
    "send": actions.send,
    "summarize": actions.summarize,
    "extract": actions.extract,
    "remember": actions.remember,
    "recall": actions.recall,
}
_VAGUE = re.compile(
    r"^(do|handle|fix|finish|process|make|send|take care of|deal with|continue)?\s*(it|that|this|them|something|stuff|things?)?$",
    re.IGNORECASE,
)


def compose(task: str, capabilities: list[dict[str, Any]]) -> dict[str, Any]:
    """Plan a task over some capabilities, given as the planner prompt lists them.

    Returns a plan, `{"clarify": [question]}`, or `{"cannot": reason}`; a request of which a part
    cannot be done is not begun.
    """
    draft = Draft({str(item["name"]): item for item in capabilities})
    clauses = split(task)
    if not clauses or _VAGUE.match(clauses[0].text) and len(clauses) == 1:
        return {"clarify": ["What exactly should I do, and with what?"]}
    try:
        for part in clauses:
            before = len(draft.steps)
            _add(draft, part)
            if len(draft.steps) > before:
                draft.last_of_clause = draft.steps[-1]["id"]
    except NeedsAnswer as question:
        return {"clarify": [str(question)]}
    except CannotPlan as reason:
        return {"cannot": str(reason)}
    if not draft.steps:
        return {"cannot": "I found nothing in it that I can do"}
    _demand_what_is_used(draft.steps)
    closing = {"id": f"s{len(draft.steps) + 1}", "capability": "respond", "params": {}}
    closing |= {"description": "Answer the user", "depends_on": [step["id"] for step in draft.steps]}
    return {"goal": task, "steps": [*draft.steps, closing | {"estimated_risk": "None"}]}


def _add(draft: Draft, part: Clause) -> None:
    if _add_declared(draft, part):
        return
    if part.action:
        _BY_ACTION[part.action](draft, part)
    elif part.verb in UNSUPPORTED:
        raise CannotPlan(f"I cannot {part.verb} anything")
    elif part.question or not part.verb:
        _ask_or_refuse(draft, part)


def _ask_or_refuse(draft: Draft, part: Clause) -> None:
    """Take a clause without a verb of action as a question, unless it asks for a deed."""
    wish = re.match(
        r"^(?:there (?:should|must) be|a|an|the|some|any|all|my|our)\s+(.+)$", part.text, re.IGNORECASE
    )
    inner = clause(wish[1]) if wish else part
    if inner.verb in UNSUPPORTED and not part.question:
        raise CannotPlan(f"I cannot {inner.verb} anything")
    actions.ask(draft, part)


def _add_declared(draft: Draft, part: Clause) -> bool:
    """Match a clause to a capability the user has declared, by its verb and its domain or tags."""
    words = set(re.findall(r"[a-z0-9]+", part.text.lower()))
    stems = words | {word.removesuffix("s") for word in words}
    for name, found in draft.capabilities.items():
        if name in KNOWN or "." not in name:
            continue
        domain, verb = name.rpartition(".")[0], name.rpartition(".")[2]
        verbs = {verb, verb.replace("_", " "), *NAME_VERBS.get(part.action or "", ())}
        verb_fits = part.verb in verbs or verb in stems or verb in NAME_VERBS.get(part.action or "", ())
        nouns = {*domain.split("."), domain.removesuffix("s"), *found.get("tags", ())}
        if verb_fits and (nouns & stems or verb in stems):
            draft.set_topic(draft.add(name, part.text, **_bind(found, part.text)), "", name)
            return True
    return False


def _bind(found: dict[str, Any], text: str) -> dict[str, Any]:
    """Read the arguments of a declared capability: a value that follows an argument's name."""
    schema = found["args"]
    quotes, bound = quoted(text), {}
    for name, declared in schema.get("properties", {}).items():
        value = _value(name, declared, text, quotes)
        if value is not None:
            bound[name] = value
        elif name in schema.get("required", ()):
            raise NeedsAnswer(f"Which {name.replace('_', ' ')} do you mean?")
    return bound


def _value(name: str, declared: dict[str, Any], text: str, quotes: list[str]) -> Any:
    kind = declared.get("type")
    for word in (name, name.replace("_", " "), *name.split("_")):
        match = re.search(rf"\b{re.escape(word)}\s*(?:=|:|of|is)?\s*([\w.@/+-]*\w)", text, re.IGNORECASE)
        if (
            match
            and kind == "string"
            and match[1].lower() not in ("to", "for", "with", "and", "in", "the", "of")
        ):
            return match[1]
    numbers = re.findall(r"-?\d+(?:\.\d+)?", text)
    if kind in ("integer", "number") and numbers:
        return int(numbers[0]) if kind == "integer" else float(numbers[0])
    if kind == "string" and quotes:
        return quotes.pop(0)
    if "enum" in declared:
        return next((option for option in declared["enum"] if str(option).lower() in text.lower()), None)
    return None


def _demand_what_is_used(steps: list[dict[str, Any]]) -> None:
    """A search whose result another step needs has to find something."""
    used = " ".join(str(step["params"]) for step in steps)
    for step in steps:
        if f"steps.{step['id']}.output.m" in used and step["capability"].endswith(".search"):
            step["success_criteria"] = {"cel": "output.count > 0"}
